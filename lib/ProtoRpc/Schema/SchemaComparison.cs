namespace ProtoRpc.Schema;

/// <summary>Compares two declarations of the same services by their wire format: numbers and types. Names are
/// compared to detect that numbers have changed.</summary>
internal sealed class SchemaComparison
{
    // Two unrelated schemas would have thousands of differences.
    private const int MostDifferences = 20;

    private readonly List<string> _differences = [];
    private readonly HashSet<(string, string)> _compared = [];
    private readonly Queue<(RpcMessageInfo Ours, RpcMessageInfo Theirs)> _waiting = new();

    private SchemaComparison()
    {
    }

    /// <summary>The differences that make calls fail or lose fields. A field that only one side has is no
    /// difference, because services are extended.</summary>
    /// <param name="services">The services as the client has them.</param>
    /// <param name="theirs">The server's schema.</param>
    public static IReadOnlyList<string> Compare(IReadOnlyList<RpcServiceInfo> services, RpcSchema theirs)
    {
        SchemaComparison comparison = new();
        foreach (RpcServiceInfo service in services)
        {
            // Services that only one side has are not compared; calling them fails with another error.
            if (theirs.Services.FirstOrDefault(other => other.FullName == service.FullName) is { } other)
            {
                comparison.Compare(service, other);
            }
        }

        while (comparison._waiting.TryDequeue(out (RpcMessageInfo Ours, RpcMessageInfo Theirs) pair)
            && comparison._differences.Count < MostDifferences)
        {
            comparison.Compare(pair.Ours, pair.Theirs);
        }

        return comparison._differences.Count > MostDifferences
            ? [.. comparison._differences.Take(MostDifferences), "... and more."]
            : comparison._differences;
    }

    private void Compare(RpcServiceInfo ours, RpcServiceInfo theirs)
    {
        foreach (RpcMethodInfo method in ours.Methods)
        {
            if (theirs.Methods.FirstOrDefault(other => other.Name == method.Name) is not { } other)
            {
                _differences.Add($"the server has no method {method.FullName}.");
                continue;
            }

            if ((method.IsClientStreaming, method.IsServerStreaming)
                != (other.IsClientStreaming, other.IsServerStreaming))
            {
                _differences.Add(
                    $"{method.FullName} streams differently: '{method.Signature}' here, "
                    + $"'{other.Signature}' on the server.");
            }

            Visit(method.RequestType, other.RequestType);
            Visit(method.ReplyType, other.ReplyType);
        }
    }

    private void Visit(RpcMessageInfo? ours, RpcMessageInfo? theirs)
    {
        if (ours is not null && theirs is not null && _compared.Add((ours.FullName, theirs.FullName)))
        {
            _waiting.Enqueue((ours, theirs));
        }
    }

    private void Compare(RpcMessageInfo ours, RpcMessageInfo theirs)
    {
        foreach (RpcFieldInfo field in ours.Fields)
        {
            if (theirs.FindField(field.Number) is { } other)
            {
                Compare(field, other);
                Visit(field.MessageType, other.MessageType);
            }
            else if (theirs.Fields.FirstOrDefault(one => one.Name == field.Name) is { } moved)
            {
                _differences.Add(
                    $"{field.FullName} has number {field.Number} here, {moved.Number} on the server.");
            }
        }
    }

    private void Compare(RpcFieldInfo ours, RpcFieldInfo theirs)
    {
        string here = TypeOf(ours);
        string there = TypeOf(theirs);
        if (here != there)
        {
            _differences.Add(
                $"{ours.FullName} (number {ours.Number}) is {here} here, {there} on the server.");
        }
        else if (ours.Name != theirs.Name && theirs.ContainingType.Fields.Any(one => one.Name == ours.Name))
        {
            // A renamed field has the same encoding. A name that the other schema uses for another number is
            // not a renaming.
            _differences.Add(
                $"number {ours.Number} is {ours.FullName} here, {theirs.FullName} on the server.");
        }
    }

    // Types with the same encoding and the same values have the same text. The fields of messages are
    // compared separately.
    private static string TypeOf(RpcFieldInfo field)
    {
        string type = field.Kind switch
        {
            RpcFieldKind.Message => "a message",
            RpcFieldKind.Group => "a group",
            RpcFieldKind.Enum => "an enum",
            _ => field.Kind.ToString().ToLowerInvariant(),
        };
        return field.IsMap ? "a map" : field.IsRepeated ? $"repeated {type}" : type;
    }
}
