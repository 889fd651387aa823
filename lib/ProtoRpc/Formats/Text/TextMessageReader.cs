using System.Runtime.InteropServices;
using ProtoRpc.Formats.Generated;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

/// <summary>One run of reading a message of the text format.</summary>
internal sealed class TextMessageReader(
    in ReadOnlySequence<byte> text, RpcMessageInfo root, FormatOptions options)
    : FormatReader(root, options, text.Length)
{
    private readonly TextTokenizer _token = new(text);

    protected override string Where => _token.WhereFrom(Options.Origin);

    protected override void ReadAll(in MessageTarget target)
    {
        Next();
        ReadFields(target, '\0', 0);
    }

    /// <summary>Reads fields up to the closing brace, or to the end of the text.</summary>
    private void ReadFields(in MessageTarget message, char end, int depth)
    {
        CheckDepth(depth);
        SeenFields seen = new(message.Layout.Fields.Length);
        while (end == '\0' ? _token.Kind != TextToken.End : !_token.IsSymbol(end))
        {
            if (_token.Kind == TextToken.End)
            {
                throw Malformed($"the text ends before the '{end}' of a message.");
            }
            ReadField(message, ref seen, depth);
            if (_token.IsSymbol(',') || _token.IsSymbol(';'))
            {
                Next();
            }
        }
    }

    private void ReadField(in MessageTarget message, ref SeenFields seen, int depth)
    {
        FieldLayout? field;
        string name;
        bool isReserved = false;
        if (_token.IsSymbol('['))
        {
            name = _token.ReadBracketed() ?? throw Malformed(
                "'[' begins the name of an extension or of a type.");
            Next();
            if (name.Contains('/'))
            {
                ReadExpandedAny(message, ref seen, name, depth);
                return;
            }
            field = message.Layout.Find($"[{name}]") is { Info.IsExtension: true } found
                && (found.Info.FullName == name || found.Info.MessageSetName == $"[{name}]")
                ? found
                : null;
            name = $"[{name}]";
        }
        else
        {
            if (_token.Kind is not (TextToken.Identifier or TextToken.Integer))
            {
                throw Malformed($"expected the name of a field, not '{_token.Shown}'.");
            }
            name = _token.Text;
            field = TextNames.Find(message.Layout, name);
            isReserved = message.Layout.Type.Proto.ReservedName.Contains(name);
            if (field is null && !isReserved && !IgnoresUnknown(message.Layout))
            {
                throw UnknownField(message.Layout, name);
            }
            Next();
        }
        if (field is null)
        {
            if (!isReserved && !IgnoresUnknown(message.Layout))
            {
                throw UnknownField(message.Layout, name);
            }
            SkipValue();
            return;
        }
        Path.PushField(field.Info.Name);
        if (!field.IsRepeated)
        {
            CheckOnce(ref seen, field);
            CheckOneof(message, field);
        }
        ReadValues(message, field, depth);
        Path.Pop();
    }

    private void ReadValues(in MessageTarget message, FieldLayout field, int depth)
    {
        if (_token.IsSymbol(':'))
        {
            Next();
        }
        else if (!field.IsMessage)
        {
            throw Malformed($"expected a colon before the value, not '{_token.Shown}'.");
        }
        if (!field.IsRepeated || !_token.IsSymbol('['))
        {
            ReadValue(message, field, depth);
            return;
        }
        Next();
        if (_token.IsSymbol(']'))
        {
            Next();
            return;
        }
        ReadValue(message, field, depth);
        while (!_token.IsSymbol(']'))
        {
            Take(',', "between the values of a list, or ']' at its end");
            ReadValue(message, field, depth);
        }
        Next();
    }

    private void ReadValue(in MessageTarget message, FieldLayout field, int depth)
    {
        if (field.IsMap)
        {
            ReadEntry(message, field, depth);
        }
        else if (field.IsMessage)
        {
            MessageTarget child = NewMessage(field.Message, message.ClassOf(field));
            ReadMessage(child, depth + 1);
            message.Store(field, child.Message);
        }
        else if (field.Kind == RpcFieldKind.Bytes)
        {
            message.Store(field, ReadBytes().ToArray());
        }
        else if (field.Kind == RpcFieldKind.String)
        {
            message.Store(field, ReadString());
        }
        else
        {
            message.Store(field, ReadScalar(field));
        }
    }

    private void ReadMessage(in MessageTarget message, int depth)
    {
        char end = TakeOpening();
        ReadFields(message, end, depth);
        Next();
    }

    private char TakeOpening()
    {
        char end = _token.IsSymbol('{') ? '}' : _token.IsSymbol('<') ? '>'
            : throw Malformed($"expected the '{{' of a message, not '{_token.Shown}'.");
        Next();
        return end;
    }

    // As the text format requires, the last entry with a key wins.
    private void ReadEntry(in MessageTarget message, FieldLayout field, int depth)
    {
        GeneratedType? type = message.ClassOf(field);
        MessageTarget target = NewMessage(field.Message, type);
        ReadMessage(target, depth + 1);
        DynamicMessage entry = (DynamicMessage)target.Message;
        object key = entry.Has(field.Key) ? entry.Get(field.Key.Info)! : DefaultOf(field.Key, null);
        object value = entry.Has(field.Value)
            ? entry.Get(field.Value.Info)!
            : DefaultOf(field.Value, type?.Properties.Held(field.Value));
        StoreEntry(message, field, key, value, replaces: true);
    }

    private void ReadExpandedAny(in MessageTarget any, ref SeenFields seen, string typeUrl, int depth)
    {
        if (any.Layout.WellKnown != WellKnownType.Any)
        {
            throw UnknownField(any.Layout, $"[{typeUrl}]");
        }
        FieldLayout[] fields = any.Layout.Fields;
        CheckOnce(ref seen, fields[0]);
        CheckOnce(ref seen, fields[1]);
        for (int i = typeUrl.IndexOf('%'); i >= 0; i = typeUrl.IndexOf('%', i + 1))
        {
            if (i + 2 >= typeUrl.Length || !char.IsAsciiHexDigit(typeUrl[i + 1]) ||
                !char.IsAsciiHexDigit(typeUrl[i + 2]))
            {
                throw Malformed("a percent sign in the URL of a type needs two hexadecimal digits after it.");
            }
        }
        MessageTarget inner = NewMessage(LayoutOfAny(any, typeUrl), null);
        if (_token.IsSymbol(':'))
        {
            Next();
        }
        ReadMessage(inner, depth + 1);
        Pack(any, typeUrl, inner);
    }

    private void Next()
    {
        CountToken();
        if (_token.Next() is { } problem)
        {
            throw Malformed(problem);
        }
    }

    private void Take(char symbol, string purpose)
    {
        if (!_token.IsSymbol(symbol))
        {
            throw Malformed($"expected '{symbol}' {purpose}, not '{_token.Shown}'.");
        }
        Next();
    }

    private string ReadString()
    {
        ReadOnlySpan<byte> bytes = CollectionsMarshal.AsSpan(ReadBytes());
        return System.Text.Unicode.Utf8.IsValid(bytes)
            ? Encoding.UTF8.GetString(bytes)
            : throw Invalid("the string is not valid UTF-8.");
    }

    /// <summary>Reads one string, or several side by side, which are one.</summary>
    private List<byte> ReadBytes()
    {
        if (_token.Kind != TextToken.String)
        {
            throw Invalid($"expected text in quotes, not '{_token.Shown}'.");
        }
        List<byte> bytes = [];
        while (_token.Kind == TextToken.String)
        {
            if (TextEscapes.Unescape(_token.Bytes[1..^1], bytes) is { } problem)
            {
                throw Malformed(problem);
            }
            Next();
        }
        return bytes;
    }

    private ulong ReadScalar(FieldLayout field)
    {
        bool negative = _token.IsSymbol('-');
        if (negative)
        {
            Next();
        }
        ulong bits = field.Kind switch
        {
            RpcFieldKind.Bool when !negative => ReadBool(),
            RpcFieldKind.Enum => ReadEnum(field, negative),
            RpcFieldKind.Double or RpcFieldKind.Float => ReadFloat(field, negative),
            RpcFieldKind.Bool => throw WrongToken("true or false"),
            _ => ReadInteger(field, negative),
        };
        Next();
        return bits;
    }

    private ulong ReadBool() => _token switch
    {
        { Kind: TextToken.Identifier, Text: "true" or "True" or "t" } => 1,
        { Kind: TextToken.Identifier, Text: "false" or "False" or "f" } => 0,
        { Kind: TextToken.Integer } when TextNumber.TryReadInteger(_token.Bytes, false, out Int128 number) &&
            (number == 0 || number == 1) => (ulong)number,
        _ => throw WrongToken("true or false"),
    };

    private ulong ReadFloat(FieldLayout field, bool negative) =>
        TextNumber.TryReadFloat(field.Kind, _token.Kind, _token.Bytes, negative, out ulong bits)
            ? bits
            : throw WrongToken("a decimal number");

    private ulong ReadInteger(FieldLayout field, bool negative)
    {
        (Int128 min, Int128 max) = field.Kind switch
        {
            RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
                ((Int128)long.MinValue, (Int128)long.MaxValue),
            RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (0, ulong.MaxValue),
            RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (0, uint.MaxValue),
            _ => (int.MinValue, int.MaxValue),
        };
        if (negative && min == 0)
        {
            // As in C++, even -0 is rejected for unsigned numbers.
            throw Invalid($"a minus stands before a number of {field.Info.TypeName}, which has no sign.");
        }
        return _token.Kind == TextToken.Integer &&
            TextNumber.TryReadInteger(_token.Bytes, negative, out Int128 value) && value >= min
                && value <= max
            ? unchecked((ulong)value)
            : throw WrongToken($"a whole number from {min} to {max}");
    }

    private ulong ReadEnum(FieldLayout field, bool negative)
    {
        RpcEnumInfo type = field.Enum!;
        if (_token.Kind == TextToken.Identifier && !negative)
        {
            string name = _token.Text;
            if (type.TryGetExactNumber(name, out int number))
            {
                return ScalarValue.ToBits(number);
            }
            throw Invalid(name, ValueText.NotInEnum(type, name));
        }
        ulong bits = ReadInteger(field, negative);
        return field.ClosedNumbers is { } known && !known.Contains((int)bits)
            ? throw Invalid($"{(int)bits} is not a number of the enum {type.FullName}, which is closed.")
            : bits;
    }

    private RpcException WrongToken(string needed) => _token.Kind == TextToken.End
        ? Malformed("the text ends before the value of a field.")
        : Invalid($"expected {needed}, not {ValueText.Format(_token.Text)}.");

    /// <summary>Skips the value of an unknown field, at any depth.</summary>
    private void SkipValue()
    {
        if (_token.IsSymbol(':'))
        {
            Next();
        }
        Stack<char> closing = new();
        do
        {
            SkipToken(closing);
        }
        while (closing.Count > 0);
        while (_token.Kind == TextToken.String)
        {
            Next();
        }
    }

    private void SkipToken(Stack<char> closing)
    {
        if (_token.Kind == TextToken.End)
        {
            throw Malformed("the text ends before the value of a field does.");
        }
        if (_token.IsSymbol('-'))
        {
            Next();
        }
        else if (_token.IsSymbol('{') || _token.IsSymbol('<') || _token.IsSymbol('['))
        {
            closing.Push(_token.IsSymbol('{') ? '}' : _token.IsSymbol('<') ? '>' : ']');
            Next();
            return;
        }
        if (_token.Kind == TextToken.Symbol && closing.TryPeek(out char end) && _token.IsSymbol(end))
        {
            closing.Pop();
        }
        else if (_token.Kind == TextToken.Symbol
            && (closing.Count == 0 || "}>]".Contains((char)_token.Bytes[0])))
        {
            throw Malformed($"expected a value, not '{_token.Shown}'.");
        }
        Next();
    }
}
