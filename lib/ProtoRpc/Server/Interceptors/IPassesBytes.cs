namespace ProtoRpc.Server.Interceptors;

/// <summary>An interceptor that does not read messages while their call runs: a gateway need not decode what
/// it passes on because of it.</summary>
internal interface IPassesBytes;
