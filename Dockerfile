# The static program and nothing else.
#
#   docker build --tag strongroom .
#   docker run --rm --volume "$PWD:/data" --user "$(id -u):$(id -g)" strongroom inspect new.db
#
# `cargo xtask dist` makes the image from the program that it has built, with
# `--build-arg PROGRAM=released` and a folder that holds the program alone.
ARG PROGRAM=compiled

FROM rust:1-alpine AS compiled
RUN apk add --no-cache gcc musl-dev linux-headers make
WORKDIR /source
COPY . .
# Functions that GCC calls for what a processor may lack.
ENV RUSTFLAGS=-Clink-arg=-lgcc
RUN cargo build --locked --profile dist --package strongroom-cli \
        --features strongroom-cli/full \
    && cp target/dist/strongroom /strongroom

FROM scratch AS released
COPY strongroom /strongroom

FROM ${PROGRAM} AS program

FROM scratch
COPY --from=program /strongroom /strongroom
# Nobody's: it owns nothing in the image.
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/strongroom"]
