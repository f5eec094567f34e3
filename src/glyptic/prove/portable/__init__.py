"""Claims and transformers as JSON and back, from files that nobody vouches for."""
