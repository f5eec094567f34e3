"""What makes the parts fast, and nothing else: products, packing, blocked attention."""
