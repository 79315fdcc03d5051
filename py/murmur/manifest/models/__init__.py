"""The manifest's wire form: one pydantic model per block, one module per concern.

A model declares a block's keys, their types and the rules that need nothing outside the block;
`Block.result` turns it into the frozen dataclass that the rest of murmur sees. Only
`murmur.manifest` imports these modules.
"""
