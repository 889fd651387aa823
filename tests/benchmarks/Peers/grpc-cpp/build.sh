#!/bin/sh
# Builds the peer in this folder. Debian: apt-get install g++ pkg-config libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc
set -e
plugin=$(command -v grpc_cpp_plugin) || { echo "grpc_cpp_plugin is missing: apt-get install protobuf-compiler-grpc" >&2; exit 1; }
pkg-config --exists grpc++ || { echo "grpc++ is missing: apt-get install libgrpc++-dev pkg-config" >&2; exit 1; }
pkg-config --exists protobuf || { echo "protobuf is missing: apt-get install libprotobuf-dev" >&2; exit 1; }
protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc="$plugin" benchmark.proto
# shellcheck disable=SC2046
g++ -O2 -std=c++17 -o peer peer.cc benchmark.pb.cc benchmark.grpc.pb.cc \
    $(pkg-config --cflags --libs grpc++ protobuf) -pthread
