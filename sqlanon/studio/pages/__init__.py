"""The screens, a file each: what they ask of the studio, and what they show."""
