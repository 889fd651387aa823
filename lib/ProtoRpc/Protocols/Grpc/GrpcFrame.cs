using System.Buffers;

namespace ProtoRpc.Protocols.Grpc;

/// <summary>One length-prefixed message of a gRPC stream.</summary>
/// <param name="IsCompressed">Whether the body is compressed by the stream's encoding.</param>
/// <param name="Body">The body, as long as the buffer that it was read from.</param>
internal readonly record struct GrpcFrame(bool IsCompressed, ReadOnlySequence<byte> Body);
