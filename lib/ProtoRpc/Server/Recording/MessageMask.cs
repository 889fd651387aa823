using System.IO.Enumeration;

namespace ProtoRpc.Server.Recording;

/// <summary>Takes the values of some fields out of messages, by names and paths.</summary>
internal sealed class MessageMask
{
    /// <summary>What stands for a text.</summary>
    public const string Hidden = "***";

    private const int MaxTypes = 10_000;
    private readonly string[][] _patterns;

    /// <exception cref="RpcException">InvalidArgument: an empty name.</exception>
    public MessageMask(IEnumerable<string> names)
    {
        Names = [.. names];
        _patterns = [.. Names.Select(name => name?.Split('.') ?? [])];
        if (Array.Exists(_patterns, path => path.Length == 0 || path.Any(string.IsNullOrWhiteSpace)))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                "A mask is the name of a field, or a path of names with dots: 'password', 'login.password'. "
                + "One of the masks is empty, or has an empty name.")
            {
                ErrorId = RpcErrorIds.InvalidFieldValue,
            };
        }
    }

    /// <summary>The names and paths.</summary>
    public IReadOnlyList<string> Names { get; }

    /// <summary>Masks a message in place; the message must not be shared.</summary>
    /// <param name="message">The message.</param>
    /// <param name="hidden">Gets the values that were taken out, as texts.</param>
    public void Apply(DynamicMessage message, ICollection<string> hidden)
    {
        if (_patterns.Length > 0)
        {
            new MaskingRun(this, hidden).Visit(message);
        }
    }

    /// <summary>The masks without wildcards whose last name no field has.</summary>
    public IReadOnlyList<string> FindUnknown(IEnumerable<RpcServiceInfo> services)
    {
        HashSet<RpcMessageInfo> seen = [];
        Stack<RpcMessageInfo> open = new(services.SelectMany(service => service.Methods)
            .SelectMany(method => new[] { method.RequestType, method.ReplyType }));
        HashSet<string> fields = new(StringComparer.OrdinalIgnoreCase);
        while (open.TryPop(out RpcMessageInfo? type) && seen.Count < MaxTypes)
        {
            if (seen.Add(type))
            {
                foreach (RpcFieldInfo field in type.Fields.Concat(type.Extensions))
                {
                    fields.Add(field.Name);
                    fields.Add(field.JsonName);
                    if (field.MessageType is { } inner)
                    {
                        open.Push(inner);
                    }
                }
            }
        }

        return [.. Names.Where((_, index) => _patterns[index][^1] is { } last
            && !last.AsSpan().ContainsAny('*', '?') && !fields.Contains(last))];
    }

    /// <summary>Whether a path of fields is masked.</summary>
    /// <param name="path">For each step the names of it.</param>
    public bool Covers(List<(string Name, string OtherName)> path)
    {
        foreach (string[] pattern in _patterns)
        {
            int start = path.Count - pattern.Length;
            bool matches = start >= 0;
            for (int i = 0; matches && i < pattern.Length; i++)
            {
                (string name, string other) = path[start + i];
                matches = Matches(pattern[i], name) || Matches(pattern[i], other);
            }

            if (matches)
            {
                return true;
            }
        }

        return false;
    }

    private static bool Matches(string pattern, string name) =>
        pattern.Equals(name, StringComparison.OrdinalIgnoreCase)
        || (pattern.AsSpan().ContainsAny('*', '?')
            && FileSystemName.MatchesSimpleExpression(pattern, name, ignoreCase: true));
}
