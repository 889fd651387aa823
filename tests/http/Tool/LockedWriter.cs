using System.Text;

namespace ProtoRpc.Http.Tests.Tool;

/// <summary>A writer that is read while it is written to.</summary>
internal sealed class LockedWriter : TextWriter
{
    private readonly StringBuilder _text = new();

    public override Encoding Encoding => Encoding.UTF8;

    public string Text
    {
        get
        {
            lock (_text)
            {
                return _text.ToString();
            }
        }
    }

    public override void Write(char value)
    {
        lock (_text)
        {
            _text.Append(value);
        }
    }
}
