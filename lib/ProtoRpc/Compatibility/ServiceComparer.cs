using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares two versions of a service: its methods, its interface id and its routes.</summary>
/// <remarks>Calls of all protocols name the method, so the order of methods breaks nothing.</remarks>
/// <param name="changes">Gets what breaks.</param>
internal sealed class ServiceComparer(ChangeList changes)
{
    private const RpcBreakingCategory Everything =
        RpcBreakingCategory.Wire | RpcBreakingCategory.Json | RpcBreakingCategory.Source;

    public void Compare(RpcServiceInfo older, RpcServiceInfo newer)
    {
        if (WellKnownFiles.Contains(older.File.Name))
        {
            return;
        }

        if (older.InterfaceId != newer.InterfaceId)
        {
            changes.Add(
                RpcBreakingRule.InterfaceIdChanged, RpcBreakingCategory.Wire,
                new SchemaElement(older.FullName, newer.File, newer.Path),
                $"The interface id changed from {older.InterfaceId} to {newer.InterfaceId}, by which native "
                + "clients find the service. Set the option "
                + "(google.protobuf.csharp_service_options).interface_id back.");
        }

        Dictionary<string, RpcMethodInfo> methods = new(StringComparer.Ordinal);
        foreach (RpcMethodInfo method in newer.Methods)
        {
            methods.TryAdd(method.Name, method);
        }

        foreach (RpcMethodInfo method in older.Methods)
        {
            if (methods.TryGetValue(method.Name, out RpcMethodInfo? other))
            {
                Compare(method, other);
            }
            else
            {
                changes.Add(
                    RpcBreakingRule.MethodDeleted, Everything,
                    SchemaElement.Deleted(method.FullName, older.File, method.Path),
                    $"The method {Shown(method.Name)} was deleted. Mark it as deprecated, and delete it "
                    + "when no client calls it.",
                    "RPC_NO_DELETE");
            }
        }
    }

    private void Compare(RpcMethodInfo older, RpcMethodInfo newer)
    {
        SchemaElement element = new(older.FullName, newer.Service.File, newer.Path);
        CompareTypes(
            RpcBreakingRule.RequestTypeChanged, "request", older.RequestType, newer.RequestType, element,
            "RPC_SAME_REQUEST_TYPE");
        CompareTypes(
            RpcBreakingRule.ReplyTypeChanged, "reply", older.ReplyType, newer.ReplyType, element,
            "RPC_SAME_RESPONSE_TYPE");
        CompareStreams(older, newer, element);
        CompareIdempotency(older, newer, element);
        RestRouteComparer.Compare(older, newer, element, changes);
    }

    private void CompareTypes(
        RpcBreakingRule rule, string what, RpcMessageInfo older, RpcMessageInfo newer, SchemaElement element,
        string bufRule)
    {
        if (older.FullName != newer.FullName)
        {
            changes.Add(
                rule, Everything, element,
                $"The {what} changed from {Shown(older.FullName)} to {Shown(newer.FullName)}. Add another "
                + "method for the new type, and keep this one.",
                bufRule);
        }
    }

    private void CompareStreams(RpcMethodInfo older, RpcMethodInfo newer, SchemaElement element)
    {
        List<string> bufRules = [];
        if (older.IsClientStreaming != newer.IsClientStreaming)
        {
            bufRules.Add("RPC_SAME_CLIENT_STREAMING");
        }

        if (older.IsServerStreaming != newer.IsServerStreaming)
        {
            bufRules.Add("RPC_SAME_SERVER_STREAMING");
        }

        if (bufRules.Count > 0)
        {
            changes.Add(
                RpcBreakingRule.StreamingChanged, Everything, element,
                $"The method was {Describe(older)} and is {Describe(newer)}. Add another method, and keep "
                + "this one.",
                bufRules);
        }
    }

    private void CompareIdempotency(RpcMethodInfo older, RpcMethodInfo newer, SchemaElement element)
    {
        MethodOptions.Types.IdempotencyLevel before = LevelOf(older);
        MethodOptions.Types.IdempotencyLevel after = LevelOf(newer);
        if (before != after)
        {
            changes.Add(
                RpcBreakingRule.IdempotencyChanged, RpcBreakingCategory.Wire | RpcBreakingCategory.Json,
                element,
                $"The option idempotency_level changed from {Describe(before)} to {Describe(after)}. Clients "
                + "send GET requests and retry calls by it. Set it back.",
                "RPC_SAME_IDEMPOTENCY_LEVEL");
        }
    }

    private static MethodOptions.Types.IdempotencyLevel LevelOf(RpcMethodInfo method) =>
        method.Proto.Options?.IdempotencyLevel ?? MethodOptions.Types.IdempotencyLevel.IdempotencyUnknown;

    private static string Describe(MethodOptions.Types.IdempotencyLevel level) => level switch
    {
        MethodOptions.Types.IdempotencyLevel.NoSideEffects => "NO_SIDE_EFFECTS",
        MethodOptions.Types.IdempotencyLevel.Idempotent => "IDEMPOTENT",
        _ => "IDEMPOTENCY_UNKNOWN",
    };

    private static string Describe(RpcMethodInfo method) =>
        (method.IsClientStreaming, method.IsServerStreaming) switch
        {
            (true, true) => "a stream in both directions",
            (true, false) => "a stream of requests",
            (false, true) => "a stream of replies",
            _ => "one request and one reply",
        };
}
