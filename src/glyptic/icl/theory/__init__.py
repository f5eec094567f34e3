"""What a linear transformer learns in context, exactly: losses, flows, risks, shifts the landscape; numpy and scipy only."""
