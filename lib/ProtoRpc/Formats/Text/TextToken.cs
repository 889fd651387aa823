namespace ProtoRpc.Formats.Text;

/// <summary>What a token of the text format is.</summary>
internal enum TextToken
{
    End,
    Identifier,
    Integer,
    Float,
    String,
    Symbol,
}
