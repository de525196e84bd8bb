"""Names that more than one module needs without a network library."""

from typing import Final

KEY_VARIABLE: Final = "OPENAI_API_KEY"
URL_VARIABLE: Final = "OPENAI_BASE_URL"
OPENAI_URL: Final = "https://api.openai.com/v1"
