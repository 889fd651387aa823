using System.Collections;
using System.IO.Enumeration;
using ProtoRpc.Messages;

namespace ProtoRpc.Server.Recording;

/// <summary>Takes the values of some fields out of messages, by names and paths.</summary>
internal sealed class MessageMask
{
    /// <summary>The replacement for a masked text.</summary>
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
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
                "A mask is the name of a field, or a path of names with dots: 'password', 'login.password'. "
                + "One of the masks is empty, or has an empty name.");
        }
    }

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

/// <summary>One run of taking values out of a message.</summary>
/// <param name="mask">Which values.</param>
/// <param name="hidden">Gets them.</param>
internal sealed class MaskingRun(MessageMask mask, ICollection<string> hidden)
{
    private readonly List<(string, string)> _path = [];

    public void Visit(DynamicMessage message)
    {
        if (message.Type.Schema.Further is not null)
        {
            // The JSON writer would ask the server for the types of unknown extensions, and write them. The
            // mask does not see their fields, so they are removed.
            message.ClearUnknownFields();
        }

        switch (message.Layout.WellKnown)
        {
            case WellKnownType.Any:
                VisitAny(message);
                return;
            case WellKnownType.Struct or WellKnownType.ListValue or WellKnownType.Value:
                VisitJson(message);
                return;
        }

        foreach (FieldLayout field in message.Layout.Fields)
        {
            if (message.Has(field))
            {
                _path.Add((field.Info.Name.Trim('[', ']'), field.Info.JsonName));
                VisitField(message, field);
                _path.RemoveAt(_path.Count - 1);
            }
        }
    }

    private void VisitField(DynamicMessage message, FieldLayout field)
    {
        if (mask.Covers(_path))
        {
            Hide(message, field);
        }
        else if (field.IsMap)
        {
            VisitMap(message.MapOf(field), field.Value);
        }
        else if (field.IsMessage)
        {
            foreach (DynamicMessage child in MessagesOf(message, field))
            {
                Visit(child);
            }
        }
    }

    private void VisitMap(OrderedDictionary<object, object> map, FieldLayout value)
    {
        foreach (object key in map.Keys.ToArray())
        {
            string name = Convert.ToString(key, CultureInfo.InvariantCulture)!;
            _path.Add((name, name));
            if (mask.Covers(_path))
            {
                map[key] = HiddenOf(value, map[key]);
            }
            else if (map[key] is DynamicMessage child)
            {
                Visit(child);
            }

            _path.RemoveAt(_path.Count - 1);
        }
    }

    // The JSON of a Struct shows its keys, not the fields of its messages, so the mask is compared with the
    // keys.
    private void VisitJson(DynamicMessage message)
    {
        foreach (FieldLayout field in message.Layout.Fields.Where(message.Has))
        {
            if (field.IsMap)
            {
                VisitMap(message.MapOf(field), field.Value);
            }
            else if (field.IsMessage)
            {
                foreach (DynamicMessage child in MessagesOf(message, field))
                {
                    Visit(child);
                }
            }
        }
    }

    private void VisitAny(DynamicMessage any)
    {
        FieldLayout type = any.Layout.Fields[0];
        FieldLayout value = any.Layout.Fields[1];
        string url = any.References[type.Slot] as string ?? "";
        byte[] bytes = any.References[value.Slot] as byte[] ?? [];
        try
        {
            if (any.Type.Schema.FindInAny(url[(url.LastIndexOf('/') + 1)..]) is { } known)
            {
                DynamicMessage inner = new(known);
                inner.MergeFrom(bytes, RpcLimits.Default.MaxMessageElements);
                Visit(inner);
                any.StoreReference(value, inner.ToByteArray());
                return;
            }
        }
        catch (RpcException)
        {
        }

        // The type is unknown or the bytes are invalid, so they may contain a masked field.
        any.Clear(type.Info);
        any.Clear(value.Info);
    }

    private void Hide(DynamicMessage message, FieldLayout field)
    {
        if (field.IsMap)
        {
            foreach ((object key, object value) in message.MapOf(field))
            {
                Record(key);
                HiddenOf(field.Value, value);
            }

            message.Clear(field.Info);
        }
        else if (field.IsMessage)
        {
            foreach (DynamicMessage child in MessagesOf(message, field))
            {
                HideAll(child);
            }
        }
        else if (!field.IsRepeated)
        {
            message.Set(field.Info, HiddenOf(field, message.Get(field.Info)!));
        }
        else if (message.References[field.Slot] is List<string> texts)
        {
            texts.ForEach(Record);
            message.Set(field.Info, texts.ConvertAll(_ => MessageMask.Hidden));
        }
        else
        {
            foreach (object value in (IEnumerable)message.References[field.Slot]!)
            {
                Record(value);
            }

            message.Clear(field.Info);
        }
    }

    private void HideAll(DynamicMessage message)
    {
        if (message.Layout.WellKnown is WellKnownType.Any or WellKnownType.FieldMask)
        {
            Array.ForEach(message.Layout.Fields, field => message.Clear(field.Info));
            return;
        }

        foreach (FieldLayout field in message.Layout.Fields.Where(message.Has))
        {
            Hide(message, field);
        }
    }

    private object HiddenOf(FieldLayout field, object value)
    {
        if (value is DynamicMessage child)
        {
            HideAll(child);
            return child;
        }

        Record(value);
        return field.Kind switch
        {
            RpcFieldKind.String => MessageMask.Hidden,
            RpcFieldKind.Bytes => Array.Empty<byte>(),
            RpcFieldKind.Enum => field.Enum!.Values[0].Value,
            _ => ScalarValue.Box(field.Kind, 0),
        };
    }

    // The text of a bool occurs in many error texts, and a byte[] has no text to search for.
    private void Record(object value)
    {
        if (value is not (byte[] or bool)
            && Convert.ToString(value, CultureInfo.InvariantCulture) is { } text)
        {
            hidden.Add(text);
        }
    }

    private static IEnumerable<DynamicMessage> MessagesOf(DynamicMessage message, FieldLayout field) =>
        message.References[field.Slot] switch
        {
            DynamicMessage one => [one],
            List<DynamicMessage> many => many,
            _ => [],
        };
}
