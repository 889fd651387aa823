using System.Collections;
using ProtoRpc.Formats;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Protocols.Rest;

/// <summary>A request of a client: a message in the form of one binding of its method.</summary>
/// <param name="Binding">The binding, which also says how the reply is read.</param>
/// <param name="HttpMethod">The method of HTTP.</param>
/// <param name="PathAndQuery">The path, and the query with its question mark if there is one, in percent
/// codes.</param>
/// <param name="ContentType">The media type of the body; null for no body.</param>
internal sealed record RestCall(
    RestBinding Binding, string HttpMethod, string PathAndQuery, string? ContentType)
{
    private const int MaxShown = 4;
    private const string Json = "application/json";

    /// <summary>Writes a request with the first binding for whose path it has the fields.</summary>
    /// <param name="bindings">The bindings of the method, at least one.</param>
    /// <param name="request">The request.</param>
    /// <param name="body">Receives the body.</param>
    /// <param name="options">The options of the JSON.</param>
    /// <exception cref="RpcException">InvalidArgument: the request lacks the fields of every path, or has
    /// fields that a query cannot express.</exception>
    public static RestCall Create(
        IReadOnlyList<RestBinding> bindings, IMessage request, IBufferWriter<byte> body,
        FormatOptions options)
    {
        if (bindings[0] is { IsPlain: true } plain)
        {
            MessageFormats.Json.Write(request, body, options);
            return new RestCall(plain, MethodOf(plain), plain.PlainPath, Json);
        }

        DynamicMessage message = GeneratedMessages.ToDynamic(request, options);
        message.CheckRequired();
        List<(RestBinding Binding, RestVariable Variable, string? Value)> misfits = [];
        foreach (RestBinding binding in bindings)
        {
            RestQueryWriter writer = new(binding, message.Type, options);
            string? path = binding.Template.Expand(
                variable => writer.TextOf(message, variable),
                out (RestVariable Variable, string? Value)? misfit);
            if (path is null)
            {
                misfits.Add((binding, misfit!.Value.Variable, misfit.Value.Value));
                continue;
            }

            string query = writer.QueryOf(message);
            string? contentType = WriteBody(binding, message, body, options);
            return new RestCall(binding, MethodOf(binding), path + query, contentType);
        }

        throw Misfit(message.Type, misfits);
    }

    private static string MethodOf(RestBinding binding) =>
        binding.HttpMethod != RestBinding.AnyMethod ? binding.HttpMethod
        : binding.HasBody ? "POST"
        : "GET";

    // Names the field of each path. The error's field path is that of the first one.
    private static RpcException Misfit(
        RpcMessageInfo type, List<(RestBinding Binding, RestVariable Variable, string? Value)> misfits)
    {
        IEnumerable<string> reasons = misfits.Take(MaxShown).Select(misfit =>
            $"'{misfit.Variable.Name}' of '{misfit.Binding}' " + (string.IsNullOrEmpty(misfit.Value)
                ? "is empty"
                : $"is {ValueText.Format(misfit.Value)}, which "
                    + $"'{misfit.Binding.Template.PatternOf(misfit.Variable)}' does not allow"));
        string more = misfits.Count > MaxShown ? $"; and {misfits.Count - MaxShown} more" : "";
        return new RpcException(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidFieldValue,
            $"The request does not match the HTTP rule of {misfits[0].Binding.Method.FullName}: the path "
            + $"field {string.Join("; ", reasons)}{more}. Set the "
            + (misfits.Count == 1 ? "field." : "fields of one of the paths."))
        {
            FieldPath = $"{type.Name}.{misfits[0].Variable.Name}",
        };
    }

    private static string? WriteBody(
        RestBinding binding, DynamicMessage message, IBufferWriter<byte> body, FormatOptions options)
    {
        if (!binding.HasBody)
        {
            return null;
        }

        FieldLayout? field = binding.BodyField is { } info ? message.Layout.Find(info.Number) : null;
        if (binding.IsBodyRaw)
        {
            DynamicMessage? raw = field is null ? message : message.References[field.Slot] as DynamicMessage;
            (string contentType, byte[] data) = raw is null ? ("", []) : HttpBodies.Write(raw);
            body.Write(data);
            return contentType.Length > 0 ? contentType : "application/octet-stream";
        }

        if (field is { IsMessage: true, IsRepeated: false, IsMap: false } && !message.Has(field)
            && field.Message.WellKnown is WellKnownType.None or WellKnownType.Struct)
        {
            // grpc-gateway does not read null as a message.
            body.Write("{}"u8);
        }
        else if (field is not null)
        {
            new RestFieldFormat(field.Info.Number).WriteChecked(message, body, options);
        }
        else
        {
            MessageFormats.Json.WriteChecked(WithoutPath(binding, message), body, options);
        }

        return Json;
    }

    // Fields in the path are not repeated in the body.
    private static DynamicMessage WithoutPath(RestBinding binding, DynamicMessage message)
    {
        if (binding.Fields.Count == 0)
        {
            return message;
        }

        DynamicMessage rest = message.Clone();
        foreach (RpcFieldInfo[] way in binding.Fields)
        {
            DynamicMessage? holder = rest;
            for (int i = 0; i < way.Length - 1 && holder is not null; i++)
            {
                holder = holder.References[holder.Layout.Find(way[i].Number)!.Slot] as DynamicMessage;
            }

            holder?.Clear(holder.Layout.Find(way[^1].Number)!.Info);
        }

        return rest;
    }
}

/// <summary>Reads a reply that is raw bytes, or has a field of raw bytes: a
/// <c>google.api.HttpBody</c>.</summary>
/// <param name="binding">The binding, whose reply is raw.</param>
/// <param name="contentType">The media type of the reply.</param>
internal sealed class RestRawFormat(RestBinding binding, string contentType)
    : MessageFormat(MessageFormats.Json.Row)
{
    // The reader finds the field by its number, not by the name of a property of a generated class.
    private protected override bool IsByProperty => false;

    private protected override void WriteMessage(
        DynamicMessage message, GeneratedViews? views, IBufferWriter<byte> output, FormatOptions options) =>
        throw new NotSupportedException("Replies are written by the server.");

    private protected override void ReadMessage(
        ReadOnlySequence<byte> input, in MessageTarget target, FormatOptions options)
    {
        DynamicMessage message = (DynamicMessage)target.Message;
        DynamicMessage raw = message;
        if (binding.ReplyField is { } holder)
        {
            FieldLayout field = message.Layout.Find(holder.Number)!;
            raw = new DynamicMessage(field.Message);
            message.StoreReference(field, raw);
        }

        HttpBodies.Read(raw, contentType, input);
    }
}

/// <summary>Writes the fields of a request to its path and query.</summary>
internal sealed class RestQueryWriter(RestBinding binding, RpcMessageInfo root, FormatOptions options)
    : FormatWriter(root, views: null, options)
{
    private readonly StringBuilder _query = new();

    /// <summary>The text of a field in the path; null if the field is not set.</summary>
    public string? TextOf(DynamicMessage message, RestVariable variable)
    {
        DynamicMessage? holder = message;
        FieldLayout? field = null;
        foreach (string name in variable.Path)
        {
            holder = field is null ? message : holder!.References[field.Slot] as DynamicMessage;
            if (holder is null)
            {
                return null;
            }

            field = holder.Layout.Find(name)!;
        }

        // A number without presence is written to the path even if it is zero.
        return holder!.Has(field!) || !(field!.HasPresence || field.IsReference)
            ? ParameterOf(field!, holder.Get(field!.Info)!)
            : field.Kind == RpcFieldKind.String && variable.IsMulti ? "" : null;
    }

    /// <summary>The query with its question mark; empty if no field is in it.</summary>
    public string QueryOf(DynamicMessage message)
    {
        if (!binding.IsBodyWhole)
        {
            Write(message, "", "", 0);
        }

        return _query.ToString();
    }

    private void Write(DynamicMessage message, string names, string canonical, int depth)
    {
        CheckDepth(depth);
        foreach (FieldLayout field in message.Layout.Shown)
        {
            if (!message.Has(field) || (depth == 0 && field.Info.Name == binding.BodyField?.Name)
                || binding.Template.HasVariable(canonical + field.Info.Name))
            {
                continue;
            }

            Path.PushField(field.Info.Name);
            WriteField(message, field, names + field.Info.JsonKey, canonical + field.Info.Name, depth);
            Path.Pop();
        }
    }

    private void WriteField(
        DynamicMessage message, FieldLayout field, string name, string canonical, int depth)
    {
        object value = message.Get(field.Info)!;
        if (field.IsMap || (field.IsMessage && field.IsRepeated) || (
            field.IsMessage && field.Message.WellKnown is WellKnownType.Any or WellKnownType.Struct
                or WellKnownType.Value or WellKnownType.ListValue))
        {
            throw Invalid(
                $"the rule '{binding}' sends this field in the query, which cannot hold "
                + $"{field.Info.TypeName}. Leave it out, or call the method over another endpoint.");
        }

        if (field.IsRepeated)
        {
            foreach (object item in (IEnumerable)value)
            {
                WritePair(name, ParameterOf(field, item));
            }
        }
        else if (field.IsMessage && !WellKnownText.IsOne(field.Message.WellKnown))
        {
            Write((DynamicMessage)value, $"{name}.", $"{canonical}.", depth + 1);
        }
        else
        {
            WritePair(name, ParameterOf(field, value));
        }
    }

    // ASP.NET Core and grpc-gateway expect the paths of a mask with the names of the .proto file.
    private string ParameterOf(FieldLayout field, object value) =>
        value is DynamicMessage { Layout.WellKnown: WellKnownType.FieldMask } mask
            ? string.Join(',', mask.References[mask.Layout.Fields[0].Slot] as List<string> ?? [])
            : TextOf(field, value);

    private void WritePair(string name, string value)
    {
        RestText.Encode(_query.Append(_query.Length == 0 ? '?' : '&'), name);
        RestText.Encode(_query.Append('='), value);
    }
}
