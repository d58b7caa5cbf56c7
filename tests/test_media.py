"""Folders of images and videos as tables, pictures as output, and files made to do harm."""

import struct
import sys
import warnings
import zlib

import av
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

import eigenlens
from eigenlens import PCA, DataError
from eigenlens.data import images
from eigenlens.data.blocks import ArrayBlocks
from eigenlens.data.pictures import PictureWriter
from eigenlens.data.writing import writer

rng = np.random.default_rng(0)
GREY = rng.integers(0, 256, (12, 6, 8), dtype=np.uint8)
COLOUR = rng.integers(0, 256, (12, 6, 8, 3), dtype=np.uint8)


def write_folder(folder, pictures, ending="png"):
    folder.mkdir()
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"face{i}.{ending}")
    return folder


def write_video(path, pictures, **options):
    """Write frames without loss, or with little."""
    with PictureWriter(path, pictures.shape[1:], frame_rate=5, **options) as film:
        film.write(pictures.reshape(len(pictures), -1).astype(float))
    return path


# -------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("pictures", [GREY, COLOUR], ids=["grey", "colour"])
def test_a_folder_of_images_is_a_table(tmp_path, pictures):
    table = eigenlens.open(write_folder(tmp_path / "faces", pictures))
    assert table.image_shape == pictures.shape[1:]
    assert table.shape == (12, pictures[0].size)
    assert table.row_names[2] == "face2"  # not face10
    assert_array_equal(table.read(), pictures.reshape(12, -1))
    assert table.dtype == np.float32
    assert table.path == "faces"
    assert table.names[0] == ("y0x0" if pictures.ndim == 3 else "y0x0 red")
    mean = PCA(2).fit(table).mean_
    np.testing.assert_allclose(mean, pictures.reshape(12, -1).mean(axis=0), rtol=1e-5)


def test_images_come_in_blocks(tmp_path, monkeypatch):
    table = eigenlens.open(write_folder(tmp_path / "faces", GREY))
    monkeypatch.setattr(images, "BLOCK_BYTES", 4 * 48 * 5)
    assert [len(block) for block in table] == [5, 5, 2]


@pytest.mark.parametrize("ending", ["bmp", "tif", "pgm", "webp", "jpg"])
def test_formats_of_images(tmp_path, ending):
    smooth = np.add.outer(np.arange(16), np.arange(16)).astype(np.uint8)
    folder = tmp_path / "faces"
    folder.mkdir()
    options = {"lossless": True} if ending == "webp" else {}
    Image.fromarray(smooth).save(folder / f"a.{ending}", **options)
    read = eigenlens.open(folder).read()
    if ending == "webp":  # knows colour alone
        read = read.reshape(-1, 3)[:, 0]
    assert np.abs(read.ravel() - smooth.ravel()).max() <= (3 if ending == "jpg" else 0)


def test_modes_of_images(tmp_path):
    """Sixteen bits keep their values; transparency goes; a turned photograph stands upright."""
    deep = np.array([[0, 1000], [40000, 65535]], dtype=np.uint16)
    Image.fromarray(write_folder(tmp_path / "deep", []) and deep).save(tmp_path / "deep/a.png")
    assert_array_equal(eigenlens.open(tmp_path / "deep").read().ravel(), deep.ravel())
    (tmp_path / "clear").mkdir()
    Image.fromarray(COLOUR[0]).convert("RGBA").save(tmp_path / "clear/a.png")
    Image.fromarray(COLOUR[1]).quantize(256).save(tmp_path / "clear/b.png")
    assert_array_equal(eigenlens.open(tmp_path / "clear").read()[0], COLOUR[0].ravel())
    (tmp_path / "turned").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.fromarray(GREY[0]).save(tmp_path / "turned/a.png", exif=exif)
    table = eigenlens.open(tmp_path / "turned")
    assert table.image_shape == (8, 6)
    assert_array_equal(table.read().reshape(8, 6), np.rot90(GREY[0], -1))


def test_other_files_of_a_folder_are_not_looked_at(tmp_path):
    folder = write_folder(tmp_path / "faces", GREY)
    (folder / "README.txt").write_text("faces")
    (folder / "more.png").mkdir()
    assert len(eigenlens.open(folder)) == 12


@pytest.mark.parametrize("ending", ["mkv", "mp4"])
def test_a_video_is_a_table(tmp_path, ending):
    smooth = np.linspace(20, 200, 12)[:, None, None] * np.ones((1, 6, 8))
    table = eigenlens.open(write_video(tmp_path / f"clip.{ending}", smooth))
    assert table.frame_rate == 5
    assert table.image_shape[:2] == (6, 8)
    read = table.read().reshape(12, 6, 8, -1)[..., 0]
    assert np.abs(read - smooth).max() <= (0.5 if ending == "mkv" else 4)
    assert table.nbytes == 12 * len(table.names) * 4
    assert eigenlens.open(tmp_path / f"clip.{ending}").n_rows == 12  # without a look at the pixels


def test_colour_video_without_loss(tmp_path):
    table = eigenlens.open(write_video(tmp_path / "clip.mkv", COLOUR))
    assert_array_equal(table.read(), COLOUR.reshape(12, -1))


def test_image_shape_follows_the_table(tmp_path):
    table = ArrayBlocks(np.ones((3, 12)))
    assert table.image_shape is None
    pictures = table.as_images((3, 4))
    assert pictures.image_shape == (3, 4)
    assert pictures.map(lambda block: block + 1).image_shape == (3, 4)
    assert pictures.select(["x1", "x2"]).image_shape is None
    assert table.as_images((2, 2, 3)).image_shape == (2, 2, 3)
    with pytest.raises(DataError, match=r"5x5 has 25 values, and array has 12 columns.*another"):
        table.as_images((5, 5))
    for wrong in ((12,), (2, 3, 2), (-3, -4), (1, 1, 3, 4)):
        with pytest.raises(ValueError, match="Give HxW"):
            table.as_images(wrong)


# -------------------------------------------------------------------------------- writing


def test_a_folder_out_has_the_names_that_came_in(tmp_path):
    table = eigenlens.open(write_folder(tmp_path / "faces", COLOUR, "png"))
    with writer(tmp_path / "out", table) as out:
        for block in table:
            out.write(block + 0.3)
    again = eigenlens.open(tmp_path / "out")
    assert again.row_names == table.row_names
    assert_array_equal(again.read(), table.read())
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_values_beyond_the_greys(tmp_path):
    rows = np.array([[-40.0, 0, 300, np.nan]])
    with PictureWriter(tmp_path / "plain", (2, 2)) as out:
        out.write(rows)
    assert_array_equal(eigenlens.open(tmp_path / "plain").read(), [[0, 0, 255, 0]])
    with PictureWriter(tmp_path / "signed", (2, 2), signed=True) as out:
        out.write(np.array([[-255.0, 0, 255, 10]]))
    assert_array_equal(eigenlens.open(tmp_path / "signed").read(), [[0, 128, 255, 132]])


def test_two_files_of_one_stem_are_both_written(tmp_path):
    folder = write_folder(tmp_path / "faces", GREY[:2])
    Image.fromarray(GREY[2]).save(folder / "face0.bmp")
    table = eigenlens.open(folder)
    with writer(tmp_path / "out", table) as out:
        out.write(table.read())
    assert len(list((tmp_path / "out").iterdir())) == 3


@pytest.mark.parametrize("name", ["out", "out.mkv", "out.mp4"])
def test_pictures_are_written_whole_or_not_at_all(tmp_path, name):
    def write():
        with PictureWriter(tmp_path / name, (6, 8)) as out:
            out.write(GREY.reshape(12, -1).astype(float))
            out.write(np.ones((1, 3)))  # of another size

    with pytest.raises(ValueError, match="reshape"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_first(tmp_path):
    table = eigenlens.open(write_folder(tmp_path / "faces", GREY))
    with pytest.raises(OSError, match=r"not empty. Empty it, or give a new name"):
        writer(tmp_path / "faces", table)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="is a file"):
        writer(tmp_path / "file", table)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        writer(tmp_path / "nowhere/out", table)
    with pytest.raises(DataError, match="not known to be images"):
        writer(tmp_path / "out", ArrayBlocks(np.ones((2, 4))))
    with pytest.raises(DataError, match=r"even sides. Write .mkv"):
        PictureWriter(tmp_path / "out.mp4", (5, 4))


# -------------------------------------------------------------------------------- harm


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(side):
    """Return a PNG of a few bytes that says it is a square of this side."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def whole_png(tmp_path):
    Image.fromarray(GREY[0]).save(tmp_path / "whole.png")
    return (tmp_path / "whole.png").read_bytes()


@pytest.mark.parametrize("side", [100_000, 10_000])
def test_a_decompression_bomb_is_not_unpacked(tmp_path, side):
    (tmp_path / "faces").mkdir()
    (tmp_path / "faces/a.png").write_bytes(bomb(side))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=r"a.png says that it has .* it is not read"):
            eigenlens.open(tmp_path / "faces")


@pytest.mark.parametrize("name", ["cut", "text", "eps", "empty", "corrupt"])
def test_a_broken_image_is_named(tmp_path, name, monkeypatch):
    whole = whole_png(tmp_path)
    content = {
        "cut": whole[: len(whole) - 30],
        "text": b"hello",
        "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%touch harm) (w) file\n",
        "empty": b"",
        "corrupt": whole[:60] + b"\xff" * 20 + whole[80:],
    }[name]
    monkeypatch.setattr("subprocess.Popen", None)  # nothing runs
    folder = tmp_path / "faces"
    folder.mkdir()
    (folder / "a.png").write_bytes(whole)
    (folder / "b.png").write_bytes(content)
    with pytest.raises(DataError, match=r"^b.png (is|says).*(anew|smaller)") as error:
        eigenlens.open(folder).read()
    assert "\n" not in str(error.value)


def test_images_of_two_sizes_or_kinds(tmp_path):
    folder = write_folder(tmp_path / "faces", GREY)
    Image.fromarray(GREY[0][:5]).save(folder / "face3.png")
    with pytest.raises(DataError, match=r"face3.png is 5 x 8 in grey, and face0.png is 6 x 8"):
        eigenlens.open(folder)
    Image.fromarray(COLOUR[0]).save(folder / "face3.png")
    with pytest.raises(DataError, match=r"in colour.*Bring them to one size and kind"):
        eigenlens.open(folder)


@pytest.mark.parametrize("ending", ["mp4", "avi", "mkv", "gif", "mpg"])
@pytest.mark.parametrize("content", [b"hello" * 100, b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"])
def test_what_is_no_video(tmp_path, ending, content):
    path = tmp_path / f"clip.{ending}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"^clip.{ending} (is|has)") as error:
        eigenlens.open(path).read()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("ending", ["mp4", "avi", "mkv"])
def test_a_list_named_as_a_video_is_not_followed(tmp_path, ending):
    write_video(tmp_path / "other.mkv", GREY)
    path = tmp_path / f"clip.{ending}"
    path.write_text("ffconcat version 1.0\nfile other.mkv\n")
    with av.open(str(path)) as tricked:  # what would happen without a container that is named
        assert sum(1 for _ in tricked.decode(video=0)) == len(GREY)
    with pytest.raises(DataError, match=rf"^clip.{ending} is damaged, cut off or no video"):
        eigenlens.open(path)


def test_a_video_that_is_cut_off(tmp_path):
    noise = rng.integers(0, 256, (12, 64, 64), dtype=np.uint8)
    whole = write_video(tmp_path / "whole.mkv", noise).read_bytes()
    plain = write_video(tmp_path / "whole.mp4", noise).read_bytes()
    for name, content in (("clip.mp4", plain[: len(plain) // 2]), ("clip.mkv", whole[:300])):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=r"^clip.*(cut off|damaged).*anew"):
            eigenlens.open(tmp_path / name).read()


def test_a_video_with_fewer_frames_than_it_says(tmp_path):
    table = eigenlens.open(write_video(tmp_path / "clip.mkv", GREY))
    table._claimed = 20
    with pytest.raises(DataError, match="says that it has 20 frames, and has 12"):
        table.read()


def test_one_image_is_no_table(tmp_path):
    whole_png(tmp_path)
    with pytest.raises(DataError, match=r"whole.png is one image.*Give the folder"):
        eigenlens.open(tmp_path / "whole.png")


@pytest.mark.parametrize(("package", "name"), [("PIL.Image", "faces"), ("av", "clip.mp4")])
def test_without_the_extra(tmp_path, monkeypatch, package, name):
    write_folder(tmp_path / "faces", GREY[:1])
    (tmp_path / "clip.mp4").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'eigenlens\[media\]'"):
        eigenlens.open(tmp_path / name)
