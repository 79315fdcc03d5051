"""What this build of mur does not establish, block by block, said in one line each.

A report that left such a block out, or printed an empty list for it, would say more than anybody
checked. The part of the runtime that establishes a fact takes its row out; the test that lists
these lines goes with it. The end of this table is the roster.
"""

from typing import Final

# Block of --explain-scope or doctor -> the line that stands in it.
UNESTABLISHED: Final[dict[str, str]] = {
    "roster": "this build does not establish roster admission",
}
