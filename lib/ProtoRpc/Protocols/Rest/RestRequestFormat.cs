using ProtoRpc.Formats;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Formats.Json;
using ProtoRpc.Messages;

namespace ProtoRpc.Protocols.Rest;

/// <summary>A body that is one field of a message, as JSON: what <c>body</c> and <c>response_body</c> of a
/// rule name.</summary>
/// <param name="field">The number of the field.</param>
internal sealed class RestFieldFormat(int field) : MessageFormat(MessageFormats.Json.Row)
{
    // The field is found by its number, not by the name of a property of a generated class.
    private protected override bool IsByProperty => false;

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options)
    {
        using JsonTextWriter writer = new(output, options.Indented);
        new JsonMessageWriter(writer, message.Type, views, options)
            .WriteValueOf(message, message.Layout.Find(field)!);
        writer.Flush();
    }

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options) =>
        new JsonMessageReader(input, target.Layout.Type, options) { Only = target.Layout.Find(field) }
            .Read(target);
}

/// <summary>Reads a request in the form of a binding: from the path, the query and the body.</summary>
/// <remarks>The body is read first, then the path, which overrides it, then the query.</remarks>
/// <param name="match">The route and the path.</param>
/// <param name="query">The query, with or without its question mark.</param>
/// <param name="body">The format of the body.</param>
/// <param name="contentType">The media type of the body, for a binding with a raw body.</param>
internal sealed class RestRequestFormat(
    RestMatch match, string query, MessageFormat body, string contentType)
    : MessageFormat(MessageFormats.Json.Row)
{
    private readonly RestBinding _binding = match.Binding;

    // Path and query set fields of messages that the body may have begun.
    private protected override bool IsByProperty => false;

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotSupportedException("Requests are written by RestCall.");

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options)
    {
        DynamicMessage message = (DynamicMessage)target.Message;
        if (_binding.HasBody)
        {
            ReadBody(input, message, options);
        }

        new RestParameterReader(match, query, target.Layout.Type, options).Read(target);
    }

    private void ReadBody(in ReadOnlySequence<byte> input, DynamicMessage message, FormatOptions options)
    {
        FieldLayout? field =
            _binding.BodyField is { } info ? message.Layout.Find(info.Number) : null;
        if (_binding.IsBodyRaw)
        {
            HttpBodies.Read(field is null ? message : Begin(message, field), contentType, input);
        }
        else if (input.IsEmpty)
        {
            // A request without a body is an empty message.
        }
        else if (field is null)
        {
            body.ReadPart(input, message, options);
        }
        else if (ReferenceEquals(body, MessageFormats.Json))
        {
            new RestFieldFormat(field.Info.Number).ReadPart(input, message, options);
        }
        else if (field is { IsMessage: true, IsRepeated: false })
        {
            body.ReadPart(input, Begin(message, field), options);
        }
        else
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.MalformedMessage,
                $"The body is the field '{field.Info.Name}', which only JSON can hold alone. "
                + "Send the body as application/json.");
        }
    }

    private static DynamicMessage Begin(DynamicMessage message, FieldLayout field)
    {
        DynamicMessage child = new(field.Message);
        message.StoreReference(field, child);
        return child;
    }
}

/// <summary>Reads the fields of a request from its path and query.</summary>
internal sealed class RestParameterReader(
    RestMatch match, string query, RpcMessageInfo root, FormatOptions options)
    : FormatReader(root, options, query.Length)
{
    private readonly RestBinding _binding = match.Binding;
    private readonly HashSet<string> _seen = new(StringComparer.Ordinal);
    private string _where = "the path";

    protected override string Where => _where;

    protected override void ReadAll(in MessageTarget target)
    {
        for (int i = 0; i < _binding.Fields.Count; i++)
        {
            ReadVariable(target, i);
        }

        if (!_binding.IsBodyWhole)
        {
            ReadQuery(target);
        }
    }

    private void ReadVariable(MessageTarget message, int variable)
    {
        RpcFieldInfo[] way = _binding.Fields[variable];
        string name = _binding.Template.Variables[variable].Name;
        string text = match[variable] ?? throw Malformed(
            $"the part of the path that is '{name}' has wrong percent codes, or is not UTF-8.");
        for (int i = 0; i < way.Length; i++)
        {
            FieldLayout field = message.Layout.Find(way[i].Number)!;
            Path.PushField(field.Info.Name);
            CheckOneof(message, field);
            if (i == way.Length - 1)
            {
                StoreParameter(message, field, text);
            }
            else
            {
                message = Child(message, field, i);
            }
        }

        foreach (RpcFieldInfo _ in way)
        {
            Path.Pop();
        }

        _seen.Add(name);
    }

    private void ReadQuery(in MessageTarget target)
    {
        _where = "the query";
        ReadOnlySpan<char> rest = query.AsSpan(query.StartsWith('?') ? 1 : 0);
        int count = 0;
        foreach (Range pair in rest.Split('&'))
        {
            if (rest[pair].IsEmpty)
            {
                continue;
            }

            CountToken();
            if (++count > Options.MaxFormFields)
            {
                throw Malformed($"there are more than {Options.MaxFormFields} pairs of name and value.");
            }

            ReadPair(target, rest[pair]);
        }
    }

    private void ReadPair(in MessageTarget target, ReadOnlySpan<char> pair)
    {
        int equals = pair.IndexOf('=');
        string name = RestText.Decode(equals < 0 ? pair : pair[..equals], plusIsSpace: true)
            ?? throw WrongCodes();
        List<FieldLayout>? way = FindWay(target.Layout, name);
        if (way is null)
        {
            return;
        }

        string canonical = string.Join('.', way.Select(field => field.Info.Name));
        if (IsElsewhere(way[0].Info.Name, canonical))
        {
            return;
        }

        string value = RestText.Decode(equals < 0 ? [] : pair[(equals + 1)..], plusIsSpace: true)
            ?? throw WrongCodes();
        Store(target, way, canonical, value);
    }

    // Unknown names are ignored, as in other gateways: clients may add their own parameters.
    private List<FieldLayout>? FindWay(MessageLayout layout, string name)
    {
        List<FieldLayout> way = [];
        ReadOnlySpan<char> rest = name;
        foreach (Range part in rest.Split('.'))
        {
            if (way.Count > 0)
            {
                if (!way[^1].IsMessage)
                {
                    return null;
                }

                layout = way[^1].Message;
            }

            if (layout.Find(rest[part].ToString()) is not { } field)
            {
                return null;
            }

            // A name may have any number of parts, so the depth is checked here.
            CheckDepth(way.Count);
            way.Add(field);
        }

        return way;
    }

    // A query cannot replace fields of the path or the body.
    private bool IsElsewhere(string first, string canonical) =>
        _binding.BodyField?.Name == first
        || _binding.Template.HasVariable(canonical);

    private void Store(MessageTarget message, List<FieldLayout> way, string canonical, string value)
    {
        for (int i = 0; i < way.Count; i++)
        {
            FieldLayout field = way[i];
            bool isLast = i == way.Count - 1;
            Path.PushField(field.Info.Name);
            if (field.IsMap || (field.IsRepeated && (!isLast || field.IsMessage))
                || (isLast && field.IsMessage && !WellKnownText.IsOne(field.Message.WellKnown)))
            {
                throw Invalid(
                    $"a query cannot hold {field.Info.TypeName}, only scalars, lists of them, and the fields "
                    + "of messages, such as 'name.field=value'.");
            }

            CheckOneof(message, field);
            if (!isLast)
            {
                message = Child(message, field, i);
            }
            else if (!field.IsRepeated && !_seen.Add(canonical))
            {
                throw Invalid("the field occurs twice. Remove one of them.");
            }
            else
            {
                StoreParameter(message, field, value);
            }
        }

        foreach (FieldLayout _ in way)
        {
            Path.Pop();
        }
    }

    // Google's clients write the paths of a mask with the names of the .proto file, ProtoJSON in
    // lowerCamelCase.
    private void StoreParameter(in MessageTarget message, FieldLayout field, string text)
    {
        if (field is { IsMessage: true, Message.WellKnown: WellKnownType.FieldMask } && text.Contains('_'))
        {
            text = CamelCaseOf(text) ?? throw Invalid(
                text, "is not a list of paths such as 'user.display_name,photo'.");
        }

        StoreText(message, field, text);
    }

    private static string? CamelCaseOf(string paths)
    {
        StringBuilder camel = new(paths.Length);
        for (int i = 0; i < paths.Length; i++)
        {
            if (paths[i] != '_')
            {
                camel.Append(paths[i]);
            }
            else if (i + 1 < paths.Length && char.IsAsciiLetterLower(paths[i + 1]))
            {
                camel.Append(char.ToUpperInvariant(paths[++i]));
            }
            else
            {
                return null;
            }
        }

        return camel.ToString();
    }

    private MessageTarget Child(in MessageTarget message, FieldLayout field, int depth)
    {
        CheckDepth(depth + 1);
        if (((DynamicMessage)message.Message).References[field.Slot] is DynamicMessage known)
        {
            return new MessageTarget(known);
        }

        MessageTarget child = NewMessage(field.Message, null);
        message.Store(field, child.Message);
        return child;
    }

    private RpcException WrongCodes() => Malformed("its percent codes are wrong, or not UTF-8.");
}
