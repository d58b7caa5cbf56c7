"""A table in blocks that counts how often it is read."""

from eigenlens.data.blocks import ArrayBlocks


class Counted(ArrayBlocks):
    """An array in blocks of so many rows, as if it were too large to be read whole."""

    def __init__(self, array, rows=77):
        super().__init__(array)
        self.nbytes, self._rows, self.passes, self.looks = 1 << 40, rows, 0, 0

    def blocks_from(self, i):
        self.passes += 1
        return super().blocks_from(i)

    def take(self, numbers):
        self.looks += 1
        return super().take(numbers)
