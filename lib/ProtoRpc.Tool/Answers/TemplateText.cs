namespace ProtoRpc.Tool.Answers;

/// <summary>A string of a template, cut at its placeholders.</summary>
/// <param name="Parts">Literal text, or the steps of a placeholder.</param>
internal sealed record TemplateText(IReadOnlyList<(string Literal, string[]? Placeholder)> Parts)
{
    private const string Start = "{{";
    private const string End = "}}";

    /// <summary>The placeholder that is the whole string; null if there is other text.</summary>
    public string[]? Only => Parts is [{ Placeholder: { } path }] ? path : null;

    /// <summary>Cuts a string.</summary>
    /// <exception cref="UsageException">A placeholder has no end, or is unknown for the
    /// method.</exception>
    public static TemplateText Read(string text, RpcMethodInfo method, string where)
    {
        List<(string, string[]?)> parts = [];
        int at = 0;
        while (text.IndexOf(Start, at, StringComparison.Ordinal) is >= 0 and var start)
        {
            int end = text.IndexOf(End, start, StringComparison.Ordinal);
            if (end < 0)
            {
                throw new UsageException($"{where} has a placeholder without an end: '{text[start..]}'.");
            }

            if (start > at)
            {
                parts.Add((text[at..start], null));
            }

            string name = text[(start + Start.Length)..end].Trim();
            parts.Add(("", Check(name, method, where)));
            at = end + End.Length;
        }

        if (at < text.Length)
        {
            parts.Add((text[at..], null));
        }

        return new TemplateText(parts);
    }

    private static string[] Check(string name, RpcMethodInfo method, string where)
    {
        string[] steps = name.Split('.');
        bool isKnown = steps switch
        {
            ["request", ..] => true,
            ["headers", .. { Length: > 0 }] => true,
            [var one] => TemplateValues.Names.Contains(one),
            _ => false,
        };
        if (!isKnown)
        {
            throw new UsageException(
                $"{where} has the placeholder '{{{{{name}}}}}', which is unknown. Use request, "
                + $"request.FIELD, headers.NAME, {string.Join(", ", TemplateValues.Names)}.");
        }

        return steps[0] switch
        {
            "request" => ["request", .. Fields(steps[1..], method, where)],

            // Names of headers may have dots.
            "headers" => ["headers", string.Join('.', steps[1..]).ToLowerInvariant()],
            _ => steps,
        };
    }

    // Steps by the names of the .proto file, up to where the schema does not say what follows.
    private static string[] Fields(string[] steps, RpcMethodInfo method, string where)
    {
        RpcMessageInfo? type = method.RequestType;
        for (int i = 0; i < steps.Length && type is not null; i++)
        {
            if (type.FullName.StartsWith("google.protobuf.", StringComparison.Ordinal))
            {
                break;
            }

            RpcFieldInfo field = type.FindField(steps[i])
                ?? throw new UsageException(
                    $"{where} has the placeholder '{{{{request.{string.Join('.', steps)}}}}}', and "
                    + $"{type.FullName} has no field '{steps[i]}'. It has "
                    + $"{string.Join(", ", type.Fields.Select(one => one.Name))}.");
            steps[i] = field.Name;
            type = field.IsMap ? null : field.MessageType;
            if (field.IsRepeated && i + 1 < steps.Length)
            {
                // An index, or the key of a map.
                i++;
            }
        }

        return steps;
    }
}
