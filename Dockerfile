# The workflow with the versions of requirements.txt. docs/embedding.md says how to build and run it.
FROM python:3.11-slim

# An index with a build of torch for the CPU may be named at the build: --build-arg PIP_EXTRA_INDEX_URL=...
ARG PIP_EXTRA_INDEX_URL

WORKDIR /opt/attention-atlas
COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --requirement requirements.txt

COPY Snakefile config.yaml LICENSE README.md ./
COPY config config
COPY envs envs
COPY workflow workflow
RUN python -m compileall -q workflow/lib \
    && useradd --create-home atlas \
    && install --directory --owner atlas /work

# Any user may run it (docker run --user): caches are where all may write, and Snakemake finds a name.
ENV HOME=/tmp USER=atlas
USER atlas
# Configuration is that of the image, unless there is a config.yaml here; results go below it.
WORKDIR /work
ENTRYPOINT ["snakemake", "--snakefile", "/opt/attention-atlas/Snakefile", "--workflow-profile", "/opt/attention-atlas/workflow/profiles/local"]
