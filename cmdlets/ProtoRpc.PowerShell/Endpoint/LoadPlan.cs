namespace ProtoRpc.PowerShell.Endpoint;

/// <summary>One target of a load test.</summary>
/// <param name="Subject">What errors are about: a connection, or the name of an endpoint.</param>
/// <param name="Target">What is called.</param>
/// <param name="Script">What makes its requests while it is called; null where they were made
/// before.</param>
internal sealed record LoadPlan(object Subject, RpcLoadTarget Target, ScriptRequests? Script);
