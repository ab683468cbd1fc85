"""The arithmetic that methods share: what ranges of ranks cost, where values lie on an axis, how far they are apart,
and the levels that they are generalized to.
"""
