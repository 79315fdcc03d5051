"""What a title becomes."""

import unittest

from slug import slug


class Slug(unittest.TestCase):
    """Titles that people write."""

    def test_letters_become_small(self) -> None:
        self.assertEqual(slug("News"), "news")

    def test_one_hyphen_stands_for_all_between_two_words(self) -> None:
        self.assertEqual(slug("Salt & pepper"), "salt-pepper")
