"""Which files hold tests, by the names that runners look for."""

_FOLDERS = ("test", "tests", "spec", "__tests__")


def is_test(path: str) -> bool:
    """Whether a file of that path holds tests, or what tests share."""
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    return (
        any(each in _FOLDERS for each in folders)
        or stem.startswith("test_")
        or stem.endswith(("_test", "Test"))
        or stem == "conftest"
        or ".test." in file
        or ".spec." in file
    )
