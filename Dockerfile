# The image of lockproof for runs and searches in virtual time: the program and
# nothing else. `make image` builds both; what needs servers runs on
# a machine that has them.
FROM scratch
COPY lockproof /lockproof
WORKDIR /slices
ENV TMPDIR=/slices
ENTRYPOINT ["/lockproof"]
