using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Formats;

/// <summary>Writes one message as text. Tracks the position, and creates errors.</summary>
internal abstract class FormatWriter(RpcMessageInfo root, GeneratedViews? views, FormatOptions options)
{
    // The content of an Any was not decoded with the message, so its elements are counted here.
    private ElementBudget _inAny = new(root, options.MaxElements);

    protected FormatOptions Options { get; } = options;

    /// <summary>Views of the messages in a generated message.</summary>
    protected GeneratedViews Views => views!;

    protected ObjectPath Path { get; } = new(root.Name);

    protected RpcMessageInfo Root { get; } = root;

    /// <summary>The extensions of a message that only the server of its schema declares.</summary>
    protected IReadOnlyList<ServerExtension> ServerExtensionsOf(DynamicMessage message) =>
        ServerExtension.ReadAll(message, ref _inAny);

    protected RpcException Error(string errorId, string problem, Exception? inner = null)
    {
        string path = Path.ToString();
        return new RpcException(RpcStatusCode.InvalidArgument, $"{path}: {problem}", inner)
        {
            ErrorId = errorId,
            FieldPath = path,
        };
    }

    protected RpcException Invalid(string problem) => Error(RpcErrorIds.InvalidFieldValue, problem);

    protected void CheckDepth(int depth)
    {
        int most = Math.Min(Options.MaxDepth, MessageLayout.MaxDepth);
        if (depth > most)
        {
            throw Error(
                RpcErrorIds.TooDeep,
                $"messages are nested more than {most} deep, or a message contains itself.");
        }
    }

    /// <summary>The text of a scalar, or of a message that is one text.</summary>
    protected string TextOf(FieldLayout field, object value)
    {
        switch (value)
        {
            case string text:
                return text;
            case byte[] bytes:
                return Convert.ToBase64String(bytes);
            case DynamicMessage message:
                return TextOf(message);
            case IMessage generated:
                DynamicMessage view = Views.Load(field.Message, generated);
                string shown = TextOf(view);
                Views.Release(view);
                return shown;
            default:
                ScalarValue.TryUnbox(field.Kind, value, out ulong bits);
                return ScalarText.Format(field, bits);
        }
    }

    /// <summary>The text of a message that is one.</summary>
    protected string TextOf(DynamicMessage message)
    {
        if (message.Layout.WellKnown == WellKnownType.Wrapper)
        {
            FieldLayout field = message.Layout.Fields[0];
            return TextOf(field, message.Get(field.Info)!);
        }
        return WellKnownText.TryWrite(message, out string? text, out string? problem)
            ? text
            : throw Invalid(problem);
    }

    /// <summary>Whether to write a field: if it is set, or if it has no presence and defaults are
    /// written.</summary>
    protected bool IsWritten(DynamicMessage message, FieldLayout field) => message.Has(field) ||
        (Options.IncludeDefaults && !field.HasPresence && !field.Info.IsExtension);

    /// <summary>Whether the URL in an Any has a slash with a name after it.</summary>
    protected static bool NamesType(string typeUrl) => typeUrl.Contains('/') && typeUrl[^1] != '/';

    /// <summary>The message in an Any; null if the schema lacks its type, or its URL names no type.</summary>
    protected DynamicMessage? Unpack(DynamicMessage any)
    {
        string typeUrl = (string?)any.References[any.Layout.Fields[0].Slot] ?? "";
        if (!NamesType(typeUrl))
        {
            return null;
        }
        string fullName = typeUrl[(typeUrl.LastIndexOf('/') + 1)..];
        RpcMessageInfo? type = any.Type.Schema.FindInAny(fullName, Options.Schema);
        if (type is null)
        {
            return null;
        }
        try
        {
            byte[] bytes = any.References[any.Layout.Fields[1].Slot] as byte[] ?? [];
            DynamicMessage message = new(type);
            _inAny.AddBytes(bytes.Length);
            MessageDecoder.Merge(message, bytes, ref _inAny);
            message.CheckRequired();
            return message;
        }
        catch (RpcException e)
        {
            throw Error(
                e.ErrorId, $"the bytes in the Any are not a message of its type '{typeUrl}': {e.Message}", e);
        }
    }
}
