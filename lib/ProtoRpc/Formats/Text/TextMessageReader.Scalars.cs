using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

// The values of one token, and what is passed over.
internal sealed partial class TextMessageReader
{
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
            // Also for -0, as in C++.
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
                return ScalarValue.Of(number);
            }
            string hint = NearestName.Hint(name, type.Values.Select(value => value.Key));
            throw Invalid(name, $"is not in the enum {type.FullName}." + (hint.Length > 0 ? hint
                : ValueText.OfNames(type.Values.Select(v => v.Key), " Its names are", " It has none") + "."));
        }
        ulong bits = ReadInteger(field, negative);
        return field.ClosedNumbers is { } known && !known.Contains((int)bits)
            ? throw Invalid($"{(int)bits} is not a number of the enum {type.FullName}, which is closed.")
            : bits;
    }

    private RpcException WrongToken(string needed) => _token.Kind == TextToken.End
        ? Malformed("the text ends before the value of a field.")
        : Invalid($"expected {needed}, not {ValueText.Of(_token.Text)}.");

    /// <summary>Passes over the value of a field that is not known, however deep it is.</summary>
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
