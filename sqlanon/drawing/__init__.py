"""How things look: one theme, pictures as SVG, and the small pieces of HTML that all pages share."""
