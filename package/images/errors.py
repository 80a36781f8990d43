"""What can go wrong while an image is built."""


class ImageError(Exception):
    """An image cannot be built; the message says what is wrong and what to do."""
