"""The parts of a transformer, as a student reads them: attention, norms, positions, blocks, stacks."""
