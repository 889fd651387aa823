namespace ProtoRpc.Server.Interceptors;

/// <summary>An interceptor that does not read messages while their call runs. A gateway does not decode
/// messages for it.</summary>
internal interface IPassesBytes;
