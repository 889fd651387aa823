using ProtoRpc.Formats;
using ProtoRpc.Messages;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols.Rest;

/// <summary>One way to call a method by HTTP: an HTTP method, a path, and which fields of the request are in
/// the path, the body and the query. A rule of <c>google.api.http</c> has one binding, and one for each of
/// its <c>additional_bindings</c>.</summary>
/// <param name="Method">The method of the service.</param>
/// <param name="HttpMethod">The HTTP method; <c>*</c> for all.</param>
/// <param name="Template">The path.</param>
internal sealed record RestBinding(RpcMethodInfo Method, string HttpMethod, RestTemplate Template)
{
    /// <summary>The HTTP method of a rule that applies to all methods.</summary>
    public const string AnyMethod = "*";

    /// <summary>The maximum number of characters of a rule that are shown.</summary>
    public const int MaxShown = 500;

    private MessageFormat? _replyFormat;

    /// <summary>The fields that the variables of the template set, in the order of the variables. Each is the
    /// list of fields that leads to it.</summary>
    public required IReadOnlyList<RpcFieldInfo[]> Fields { get; init; }

    /// <summary>Whether the body is the whole request, except the fields in the path. Such a request has no
    /// query.</summary>
    public bool IsBodyWhole { get; init; }

    /// <summary>The field of the request that is the body; null for the whole request, or no body.</summary>
    public RpcFieldInfo? BodyField { get; init; }

    /// <summary>The field of the reply that is the body of the HTTP reply; null for the whole
    /// reply.</summary>
    public RpcFieldInfo? ReplyField { get; init; }

    /// <summary>The JSON format of the HTTP reply: of the whole reply, or of a field.</summary>
    public MessageFormat ReplyFormat => ReplyField is { } part
        ? _replyFormat ??= new RestFieldFormat(part.Number)
        : MessageFormats.Json;

    /// <summary>The format of an HTTP reply with a media type. Raw bytes store the media type in the
    /// message.</summary>
    public MessageFormat ReplyFormatFor(string contentType) =>
        IsReplyRaw ? new RestRawFormat(this, contentType) : ReplyFormat;

    /// <summary>Whether the body is the whole request, and the path is always the same.</summary>
    public bool IsPlain => IsBodyWhole && Template.Variables.Count == 0 && !IsBodyRaw;

    /// <summary>The path of a plain binding, in percent codes.</summary>
    public string PlainPath => field ??= Template.Expand(static _ => null, out _)!;

    /// <summary>Whether requests have a body.</summary>
    public bool HasBody => IsBodyWhole || BodyField is not null;

    /// <summary>Whether the body is raw bytes: a <c>google.api.HttpBody</c>.</summary>
    public bool IsBodyRaw => BodyField is { } part ? HttpBodies.Is(part)
        : IsBodyWhole && HttpBodies.Is(Method.RequestType);

    /// <summary>Whether the body of the HTTP reply is raw bytes.</summary>
    public bool IsReplyRaw =>
        ReplyField is { } part ? HttpBodies.Is(part) : HttpBodies.Is(Method.ReplyType);

    /// <summary>The HTTP method and the path, for display.</summary>
    public override string ToString() => TerminalText.OneLine($"{HttpMethod} {Template}", MaxShown);
}

/// <summary>Reads the rules of <c>google.api.http</c> from the options of methods.</summary>
/// <remarks>The rules are read from the bytes of the options, because a schema may declare the extension,
/// contain it as an unknown field, or declare another extension with the same number.</remarks>
internal static class RestRules
{
    // google/api/annotations.proto: extend google.protobuf.MethodOptions { HttpRule http = 72295728; }
    private const int HttpNumber = 72295728;

    // google/api/http.proto, message HttpRule.
    private const int GetNumber = 2;
    private const int PutNumber = 3;
    private const int PostNumber = 4;
    private const int DeleteNumber = 5;
    private const int PatchNumber = 6;
    private const int BodyNumber = 7;
    private const int CustomNumber = 8;
    private const int AdditionalNumber = 11;
    private const int ReplyBodyNumber = 12;

    // Message CustomHttpPattern.
    private const int KindNumber = 1;
    private const int PathNumber = 2;

    /// <summary>The bindings of a method; none for a method without a rule.</summary>
    /// <param name="method">The method.</param>
    /// <param name="problems">Receives a sentence for each rule that cannot be used, with the method and the
    /// rule.</param>
    public static IReadOnlyList<RestBinding> Read(RpcMethodInfo method, ICollection<string> problems)
    {
        if (method.Proto.Options is not { } options)
        {
            return [];
        }

        List<RestBinding> bindings = [];
        try
        {
            // protoc writes (google.api.http).get and (google.api.http).body as two messages, which are
            // concatenated to merge them.
            ByteString rule = ByteString.CopyFrom(
                [.. WireScan.Bytes(options.ToByteString(), HttpNumber).SelectMany(part => part)]);
            if (rule.IsEmpty)
            {
                return [];
            }

            IReadOnlyList<(int Number, ByteString Value)> fields = WireScan.Bytes(rule);
            AddBinding(method, fields, bindings, problems);
            foreach ((int _, ByteString more) in fields.Where(field => field.Number == AdditionalNumber))
            {
                AddBinding(method, WireScan.Bytes(more), bindings, problems);
            }
        }
        catch (InvalidProtocolBufferException e)
        {
            problems.Add($"The HTTP rule of {method.FullName} is ignored: it is malformed. {e.Message}");
        }

        return bindings;
    }

    private static void AddBinding(
        RpcMethodInfo method, IReadOnlyList<(int Number, ByteString Value)> rule,
        List<RestBinding> bindings, ICollection<string> problems)
    {
        (string http, string path) = PatternOf(rule);
        try
        {
            bindings.Add(Bind(method, http, path, rule));
        }
        catch (FormatException e)
        {
            string shown =
                TerminalText.OneLine(ValueText.OfName($"{http} {path}".Trim()), RestBinding.MaxShown);
            string problem = TerminalText.OneLine(e.Message, RestBinding.MaxShown);
            problems.Add(
                $"The HTTP rule '{shown}' of {method.FullName} is ignored: "
                + $"{problem}{(problem.EndsWith('?') ? "" : ".")} "
                + "Correct the option google.api.http in the .proto file.");
        }
    }

    // If several members of a oneof are set, the last one counts.
    private static (string Http, string Path) PatternOf(IReadOnlyList<(int Number, ByteString Value)> rule)
    {
        (string, string) pattern = ("", "");
        foreach ((int number, ByteString value) in rule)
        {
            pattern = number switch
            {
                GetNumber => ("GET", value.ToStringUtf8()),
                PutNumber => ("PUT", value.ToStringUtf8()),
                PostNumber => ("POST", value.ToStringUtf8()),
                DeleteNumber => ("DELETE", value.ToStringUtf8()),
                PatchNumber => ("PATCH", value.ToStringUtf8()),
                CustomNumber => (TextOf(WireScan.Bytes(value), KindNumber),
                    TextOf(WireScan.Bytes(value), PathNumber)),
                _ => pattern,
            };
        }

        return pattern;
    }

    private static RestBinding Bind(
        RpcMethodInfo method, string http, string path, IReadOnlyList<(int Number, ByteString Value)> rule)
    {
        if (path.Length == 0)
        {
            throw new FormatException("it has no path");
        }

        if (!HttpNames.IsToken(http))
        {
            throw new FormatException($"'{http}' is not a method of HTTP");
        }

        if (method.IsClientStreaming)
        {
            throw new FormatException("requests that stream need a gRPC endpoint");
        }

        RestTemplate template = RestTemplate.Parse(path);
        string body = TextOf(rule, BodyNumber);
        string replyBody = TextOf(rule, ReplyBodyNumber);
        return new RestBinding(method, http, template)
        {
            Fields = [.. template.Variables.Select(variable => FieldsOf(method.RequestType, variable))],
            IsBodyWhole = body == "*",
            BodyField = body is "" or "*" ? null : FieldOf(method.RequestType, body, "body"),
            ReplyField = replyBody.Length == 0
                ? null
                : FieldOf(method.ReplyType, replyBody, "response_body"),
        };
    }

    // The fields that lead to a variable's field. A path has one text for each variable, so the last field is
    // a scalar, or a message that ProtoJSON writes as one string.
    private static RpcFieldInfo[] FieldsOf(RpcMessageInfo type, RestVariable variable)
    {
        List<RpcFieldInfo> fields = [];
        RpcMessageInfo? current = type;
        foreach (string name in variable.Path)
        {
            if (current is null)
            {
                throw new FormatException($"'{fields[^1].Name}' of '{variable.Name}' is not a message");
            }

            RpcFieldInfo field = FieldOf(current, name, "path");
            if (field.IsRepeated)
            {
                throw new FormatException(
                    $"the path cannot hold '{variable.Name}', because '{field.Name}' is repeated");
            }

            fields.Add(field);
            current = field.MessageType;
        }

        return current is null || WellKnownText.IsOne(WellKnownTypes.Get(current))
            ? [.. fields]
            : throw new FormatException(
                $"the path cannot hold '{variable.Name}', because it is the message {current.FullName}");
    }

    private static RpcFieldInfo FieldOf(RpcMessageInfo type, string name, string what)
    {
        if (type.FindField(name) is { } field && field.Name == name)
        {
            return field;
        }

        string hint = NearestName.Hint(name, type.Fields.Select(known => known.Name));
        throw new FormatException(
            $"its {what} names the field '{name}', which {type.FullName} does not have"
            + (hint.Length == 0 ? "" : $".{hint}"));
    }

    private static string TextOf(IReadOnlyList<(int Number, ByteString Value)> message, int number) =>
        message.LastOrDefault(field => field.Number == number).Value?.ToStringUtf8() ?? "";
}

/// <summary>Messages of type <c>google.api.HttpBody</c>: raw bytes with their media type.</summary>
internal static class HttpBodies
{
    private const string TypeName = "google.api.HttpBody";
    private const int ContentTypeNumber = 1;
    private const int DataNumber = 2;

    /// <summary>Whether a type is <c>google.api.HttpBody</c>, and not another type of that name.</summary>
    public static bool Is(RpcMessageInfo type) =>
        type.FullName == TypeName
        && type.FindField(ContentTypeNumber) is { Kind: RpcFieldKind.String, IsRepeated: false }
        && type.FindField(DataNumber) is { Kind: RpcFieldKind.Bytes, IsRepeated: false };

    /// <summary>Whether a field holds one <c>google.api.HttpBody</c>.</summary>
    public static bool Is(RpcFieldInfo holder) =>
        !holder.IsRepeated && holder.MessageType is { } type && Is(type);

    /// <summary>Fills an empty message.</summary>
    public static void Read(DynamicMessage message, string contentType, in ReadOnlySequence<byte> data)
    {
        message.Set(message.Type.FindField(ContentTypeNumber)!, contentType);
        message.Set(message.Type.FindField(DataNumber)!, data.ToArray());
    }

    /// <summary>The media type and the bytes of a message.</summary>
    public static (string ContentType, byte[] Data) Write(DynamicMessage message) => (
        (string)message.Get(message.Type.FindField(ContentTypeNumber)!)!,
        (byte[])message.Get(message.Type.FindField(DataNumber)!)!);
}
