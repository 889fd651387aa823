namespace ProtoRpc.PowerShell.Endpoint;

/// <summary>One target of a load test.</summary>
/// <param name="Subject">The target object of errors: a connection, or the name of an endpoint.</param>
/// <param name="Target">The target to call.</param>
/// <param name="Script">The script that makes requests during the test; null if they were made
/// before.</param>
internal sealed record LoadPlan(object Subject, RpcLoadTarget Target, ScriptRequests? Script);
