"""The settings of Sphinx. Nothing on the pages is fetched from anywhere: no fonts, no scripts, no badges."""

import dither

project = "dither"
author = "The dither authors"
version = release = dither.__version__
project_copyright = "The dither authors. MIT licence"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["ref.python"]  # a type in a signature has its short name, which two packages may use

add_module_names = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "dither"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
