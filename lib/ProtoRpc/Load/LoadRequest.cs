using Google.Protobuf;

namespace ProtoRpc.Load;

/// <summary>What one call sends, encoded.</summary>
/// <param name="Messages">The messages; one for a method that takes no stream.</param>
/// <param name="Bytes">Their bytes.</param>
internal sealed record LoadRequest(IMessage[] Messages, long Bytes);
