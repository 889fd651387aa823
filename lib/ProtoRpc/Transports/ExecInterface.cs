namespace ProtoRpc.Transports;

/// <summary>Handles the calls of one interface. May run on many threads at once; a handler that ends
/// synchronously is answered without a thread switch.</summary>
public delegate ValueTask ExecHandler(ExecCall call);

/// <summary>One interface of the raw layer, as a native listener serves it.</summary>
/// <param name="InterfaceId">The interface's UUID; version 1.0, operation 0.</param>
/// <param name="Handler">Handles its calls. An exception becomes return code 0x80004005, as on the original.</param>
public sealed record ExecInterface(Guid InterfaceId, ExecHandler Handler);
