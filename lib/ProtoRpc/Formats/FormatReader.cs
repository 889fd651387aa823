using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Formats;

/// <summary>Reads one message from text. Tracks the position and the counted elements, and creates
/// errors.</summary>
internal abstract class FormatReader(RpcMessageInfo root, FormatOptions options, long length)
{
    // How many names, values and brackets are read between two calls of FormatOptions.Look.
    private const int TokensPerLook = 1024;

    private ElementBudget _budget = BudgetOf(root, options, length);
    private HashWork _hashWork = new(root, options.MaxGeneratedMapEntries);
    private int _untilLook = TokensPerLook;
    private List<MessageTarget>? _inTwo;

    protected FormatOptions Options { get; } = options;

    protected ObjectPath Path { get; } = new(root.Name);

    /// <summary>The position in the text: <c>line 3, column 12</c>.</summary>
    protected abstract string Where { get; }

    private static ElementBudget BudgetOf(RpcMessageInfo root, FormatOptions options, long length)
    {
        ElementBudget budget = new(root, options.MaxElements);
        budget.AddBytes(length);
        return budget;
    }

    /// <summary>Reads the whole text into an empty message.</summary>
    public void Read(in MessageTarget target)
    {
        Record(target);
        ReadAll(target);
        foreach (MessageTarget message in _inTwo ?? [])
        {
            message.Complete(Options);
        }
    }

    /// <inheritdoc cref="Read"/>
    protected abstract void ReadAll(in MessageTarget target);

    public RpcException Error(string errorId, string problem, Exception? inner = null)
    {
        string path = Path.ToString();
        return new RpcException(RpcStatusCode.InvalidArgument, $"{path}: {problem} (at {Where})", inner)
        {
            ErrorId = errorId,
            FieldPath = path,
        };
    }

    /// <summary>The text itself is wrong, not a value in it.</summary>
    protected RpcException Malformed(string problem, Exception? inner = null) =>
        Error(RpcErrorIds.MalformedMessage, problem, inner);

    protected RpcException Invalid(string problem) => Error(RpcErrorIds.InvalidFieldValue, problem);

    protected RpcException Invalid(string? value, string problem) =>
        Error(RpcErrorIds.InvalidFieldValue, $"{ValueText.Format(value)} {problem}");

    /// <summary>Whether to ignore an unknown name in a message. Never in a well-known type, because the rest
    /// would be a valid value, such as 1970.</summary>
    protected bool IgnoresUnknown(MessageLayout layout) =>
        Options.IgnoreUnknownFields && layout.WellKnown == WellKnownType.None;

    protected RpcException UnknownField(MessageLayout layout, string name)
    {
        string hint = NearestName.Hint(name, layout.Fields.Select(field => field.Info.Name));
        if (hint.Length == 0)
        {
            hint = ValueText.OfNames(
                layout.Shown.Select(field => field.Info.Name), " Its fields are", " It has no fields") + ".";
        }
        Path.PushField(name);
        return Error(
            RpcErrorIds.UnknownField,
            $"the message {layout.Type.FullName} has no field '{ValueText.OfName(name)}'.{hint}");
    }

    protected void CheckDepth(int depth)
    {
        if (depth > Math.Min(Options.MaxDepth, MessageLayout.MaxDepth))
        {
            throw TooDeep();
        }
    }

    protected RpcException TooDeep() => Error(
        RpcErrorIds.TooDeep,
        $"messages are nested more than {Math.Min(Options.MaxDepth, MessageLayout.MaxDepth)} deep.");

    /// <summary>Rejects a field that occurs twice.</summary>
    protected void CheckOnce(ref SeenFields seen, FieldLayout field)
    {
        if (!seen.Add(field.Index))
        {
            throw Invalid("the field occurs twice. Remove one of them.");
        }
    }

    /// <summary>Refuses a second member of a oneof.</summary>
    protected void CheckOneof(in MessageTarget message, FieldLayout field)
    {
        if (field.CaseSlot >= 0 && message.ChosenOf(field) is { } other && other != field)
        {
            throw Error(
                RpcErrorIds.OneofConflict,
                $"only one field of the oneof '{field.Info.Oneof!.Name}' can be set, and " +
                $"'{other.Info.Name}' is also set. Remove one of them.");
        }
    }

    /// <summary>Counts a token, and regularly calls <see cref="FormatOptions.Look"/>.</summary>
    protected void CountToken()
    {
        if (--_untilLook == 0)
        {
            _untilLook = TokensPerLook;
            Options.Look?.Invoke();
        }
    }

    /// <summary>Creates a nested message, unless the limit of elements is reached.</summary>
    /// <param name="layout">Its fields.</param>
    /// <param name="type">Its generated class; null for a dynamic message.</param>
    protected MessageTarget NewMessage(MessageLayout layout, GeneratedType? type)
    {
        _budget.CountMessage(layout);
        MessageTarget message = MessageTarget.Create(layout, type);
        Record(message);
        return message;
    }

    protected void AddEntry(in MessageTarget message, FieldLayout field, object key, object value)
    {
        _budget.CountEntry();
        if (!StoreEntry(message, field, key, value, replaces: false))
        {
            throw Invalid("the key occurs twice. Remove one of them.");
        }
    }

    /// <summary>Sets an entry of a map.</summary>
    /// <returns>False where the key is there already, and the entry is not to be replaced.</returns>
    protected bool StoreEntry(
        in MessageTarget message, FieldLayout field, object key, object value, bool replaces)
    {
        if (message.GeneratedEntries(field) is { } entries
            && GeneratedLimits.IsHashedAsItself(field.Key.Kind))
        {
            long keys = entries;
            _hashWork.Add(ref keys);
        }
        return message.StoreEntry(field, key, value, replaces);
    }

    /// <summary>Converts a text to a boxed scalar, a string, bytes, or a message with a text form.</summary>
    /// <param name="field">The field.</param>
    /// <param name="type">The class of a message; null for a dynamic one.</param>
    /// <param name="text">The text.</param>
    protected object OfText(FieldLayout field, GeneratedType? type, string text)
    {
        switch (field.Kind)
        {
            case RpcFieldKind.String:
                return text;
            case RpcFieldKind.Bytes:
                return Base64Text.TryDecode(text.Trim(), out byte[] bytes)
                    ? bytes
                    : throw Invalid(text, "is not base64.");
            case RpcFieldKind.Message or RpcFieldKind.Group:
                MessageTarget message = NewMessage(field.Message, type);
                ReadTextInto(message, text);
                return message.Message;
            default:
                return ScalarValue.Box(field.Kind, ScalarOfText(field, text));
        }
    }

    /// <summary>Fills a message that is one text.</summary>
    protected void ReadTextInto(in MessageTarget message, string text)
    {
        if (message.Layout.WellKnown == WellKnownType.Wrapper)
        {
            StoreText(message, message.Layout.Fields[0], text);
        }
        else if (WellKnownText.Read(message, text.Trim()) is { } problem)
        {
            throw Invalid(text, problem);
        }
    }

    /// <summary>Converts a text, and sets the field to it or adds it to the list.</summary>
    protected void StoreText(in MessageTarget message, FieldLayout field, string text)
    {
        if (field.IsMessage || field.Kind is RpcFieldKind.String or RpcFieldKind.Bytes)
        {
            message.Store(field, OfText(field, message.ClassOf(field), text));
        }
        else
        {
            message.Store(field, ScalarOfText(field, text));
        }
    }

    /// <summary>The key or value of a map entry that lacks it.</summary>
    protected object DefaultOf(FieldLayout part, GeneratedType? type) => part.Kind switch
    {
        RpcFieldKind.Message or RpcFieldKind.Group => NewMessage(part.Message, type).Message,
        RpcFieldKind.String => "",
        RpcFieldKind.Bytes => Array.Empty<byte>(),
        RpcFieldKind.Enum => part.Enum!.Values[0].Value,
        _ => ScalarValue.Box(part.Kind, 0),
    };

    /// <summary>The message type that an Any names.</summary>
    protected MessageLayout LayoutOfAny(in MessageTarget any, string typeUrl) =>
        TryFindLayoutOfAny(any, typeUrl) ?? throw UnknownTypeInAny(typeUrl, "");

    /// <summary>The message type that an Any names; null if the schema lacks it.</summary>
    protected MessageLayout? TryFindLayoutOfAny(in MessageTarget any, string typeUrl)
    {
        int slash = typeUrl.LastIndexOf('/');
        if (slash < 0 || slash == typeUrl.Length - 1)
        {
            throw Invalid(
                typeUrl, "names no type; write type.googleapis.com/ and the full name of a message.");
        }
        string fullName = typeUrl[(slash + 1)..];
        RpcMessageInfo? type = any.Layout.Type.Schema.FindInAny(fullName, Options.Schema);
        return type is null ? null : MessageLayout.For(type);
    }

    /// <summary>The error for an Any of a type that the schema lacks.</summary>
    /// <param name="typeUrl">The URL of the type.</param>
    /// <param name="otherwise">The text about other input that the format accepts; empty for none.</param>
    protected RpcException UnknownTypeInAny(string typeUrl, string otherwise) => Invalid(
        $"the schema has no message '{ValueText.OfName(typeUrl[(typeUrl.LastIndexOf('/') + 1)..])}', which "
        + $"the Any names. Import the .proto that declares it{otherwise}.");

    /// <summary>Puts a message, which is dynamic, into an Any.</summary>
    protected static void Pack(in MessageTarget any, string typeUrl, in MessageTarget inner)
    {
        any.Store(any.Layout.Fields[0], typeUrl);
        any.Store(any.Layout.Fields[1], ((DynamicMessage)inner.Message).ToByteArray());
    }

    private ulong ScalarOfText(FieldLayout field, string text) =>
        ScalarReader.ReadScalar(field, text, out ulong bits) is { } problem
            ? throw Invalid(text, problem)
            : bits;

    private void Record(in MessageTarget message)
    {
        if (message.IsInTwo)
        {
            (_inTwo ??= []).Add(message);
        }
    }
}

/// <summary>Which fields of a message have been read.</summary>
internal struct SeenFields(int count)
{
    private const int BitsPerWord = 64;

    private readonly ulong[]? _others = count > BitsPerWord ? new ulong[(count - 1) / BitsPerWord] : null;
    private ulong _first;

    /// <summary>Notes a field by its index.</summary>
    /// <returns>False when it was there already.</returns>
    public bool Add(int index)
    {
        ulong bit = 1UL << (index % BitsPerWord);
        ref ulong word = ref index < BitsPerWord ? ref _first : ref _others![(index / BitsPerWord) - 1];
        bool added = (word & bit) == 0;
        word |= bit;
        return added;
    }
}

/// <summary>The position of a text in a longer text, so that errors name the place in the longer
/// text.</summary>
/// <param name="Lines">The lines before it.</param>
/// <param name="Columns">The number of bytes before the text in its first line; negative for a text that
/// precedes the user's text.</param>
internal readonly record struct TextOrigin(long Lines, long Columns)
{
    /// <summary>The position after a text that begins here.</summary>
    public TextOrigin Behind(ReadOnlySpan<byte> text)
    {
        int lines = text.Count((byte)'\n');
        return lines == 0
            ? this with { Columns = Columns + text.Length }
            : new TextOrigin(Lines + lines, text.Length - text.LastIndexOf((byte)'\n') - 1);
    }

    /// <summary><c>line 3, column 12</c>, both from 1, of a place in the text.</summary>
    /// <param name="line">The lines of the text before it.</param>
    /// <param name="column">The bytes before it in its line.</param>
    public string Place(long line, long column) =>
        $"line {Lines + line + 1}, column {Math.Max(line == 0 ? Columns + column : column, 0) + 1}";
}

/// <summary>Finds the line and the column of an offset in a text.</summary>
internal static class TextPosition
{
    /// <summary><c>line 3, column 12</c>, both from 1; columns count bytes.</summary>
    public static string Describe(in ReadOnlySequence<byte> text, long offset, TextOrigin origin = default)
    {
        long line = 0;
        long column = 0;
        foreach (ReadOnlyMemory<byte> piece in text.Slice(0, Math.Min(offset, text.Length)))
        {
            int lines = piece.Span.Count((byte)'\n');
            line += lines;
            column = lines == 0
                ? column + piece.Length
                : piece.Length - piece.Span.LastIndexOf((byte)'\n') - 1;
        }

        return origin.Place(line, column);
    }
}
