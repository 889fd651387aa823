namespace ProtoRpc.Hosting.Http;

/// <summary>A call that failed after its first reply,
/// of which the client was told behind the last one.</summary>
internal sealed class HttpStreamFailed(Exception why) : Exception(why.Message, why);
