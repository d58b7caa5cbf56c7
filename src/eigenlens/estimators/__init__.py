"""One public class a file. The stub of the package, ``__init__.pyi``, lists them."""
