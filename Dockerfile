# Two stages: build with the tests' own warnings, run as nobody on a slim image without a compiler.
FROM debian:12-slim AS build
COPY deploy/packages.sh /src/deploy/
RUN /src/deploy/packages.sh build
COPY . /src
RUN meson setup /build /src --buildtype=release -Db_lto=true -Dwerror=true \
 && ninja -C /build server/gpupick \
 && strip /build/server/gpupick

FROM debian:12-slim
COPY --from=build /src/deploy/packages.sh /tmp/packages.sh
RUN bash /tmp/packages.sh image \
 && rm -rf /tmp/packages.sh /etc/postgresql-common /var/lib/apt/lists/* \
 && mkdir -p /var/lib/gpupick && chown 65532:65532 /var/lib/gpupick
COPY --from=build /build/server/gpupick /usr/local/bin/gpupick
USER 65532:65532
ENV GPUPICK_LISTEN=0.0.0.0:8080 GPUPICK_OPS_LISTEN=0.0.0.0:9090 GPUPICK_DATA=/var/lib/gpupick
VOLUME /var/lib/gpupick
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["gpupick", "healthcheck"]
ENTRYPOINT ["gpupick"]
CMD ["serve"]
