# Sourced by the scripts beside it: where downloads are kept, and how they are made.

# Nothing that CI downloads or builds lies in the checkout, so that a second run, and the
# next clone, find it.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/servegate-ci
mkdir -p "$cache"

# once_more COMMAND...: for commands that download; a network is allowed one fault.
once_more() {
  "$@" && return
  echo "failed, trying once more: $*" >&2
  sleep 3
  "$@"
}

# python_env NAME REQUIREMENTS [OVERRIDES]: prints the python of a virtual environment that
# holds what the file REQUIREMENTS names. It is made anew when one of the files changes, and
# is complete or not there at all, whatever interrupts it. OVERRIDES, lines that replace what
# a package asks for, is something that only uv knows.
python_env() {
  local name=$1 requirements=$2 overrides=${3:-} key dir
  key=$(cat "$requirements" ${overrides:+"$overrides"} | sha256sum | cut -c1-12)
  dir=$cache/$name/env-$key
  if [ ! -e "$dir/complete" ]; then
    rm -rf "$dir"
    mkdir -p "$cache/$name"
    echo "making the python environment $dir" >&2
    make_env "$dir" "$requirements" "$overrides" >&2 || return 1
    touch "$dir/complete"
  fi
  echo "$dir/bin/python"
}

make_env() {
  local dir=$1 requirements=$2 overrides=$3
  if command -v uv >/dev/null && uv venv -q --python python3 "$dir"; then
    once_more uv pip install -q --python "$dir/bin/python" -r "$requirements" ${overrides:+--override "$overrides"}
    return
  fi
  if ! python3 -m venv "$dir"; then
    echo "python3 -m venv doesn't work here: install Python 3.11 or newer with its venv module (Debian: python3-venv), or uv" >&2
    return 1
  fi
  local pip=("$dir/bin/python" -m pip install -q --disable-pip-version-check)
  if [ -z "$overrides" ]; then
    once_more "${pip[@]}" -r "$requirements"
  else
    once_more "${pip[@]}" uv &&
      once_more "$dir/bin/uv" pip install -q --python "$dir/bin/python" -r "$requirements" --override "$overrides"
  fi
}
