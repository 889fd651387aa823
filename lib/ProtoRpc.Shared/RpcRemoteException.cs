using System.Text;

namespace ProtoRpc;

/// <summary>An exception of a server's handler, as the server sent it. Control characters in its texts are
/// replaced by their numbers, because shells show the texts (<see cref="TerminalText"/>).</summary>
/// <param name="TypeName">The exception's full type name on the server,
/// or empty if it was not sent.</param>
/// <param name="AssemblyName">The assembly that declares it there, or empty.</param>
/// <param name="Message">The exception's message, or empty if it was not sent.</param>
public sealed record RpcRemoteException(string TypeName, string AssemblyName, string Message)
{
    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='TypeName']"/>
    public string TypeName { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(TypeName);

    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='AssemblyName']"/>
    public string AssemblyName { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(AssemblyName);

    /// <inheritdoc cref="RpcRemoteException(string, string, string)" path="/param[@name='Message']"/>
    public string Message { get; init => field = TerminalText.Neutralize(value); } =
        TerminalText.Neutralize(Message);

    /// <summary>The stack trace on the server, empty unless the server sends full details.</summary>
    public string StackTrace { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>The exception's HResult on the server, 0 if it was not sent.</summary>
    public int HResult { get; init; }

    /// <summary>The name of the program or object that raised the exception, or empty.</summary>
    public string Source { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>A help link, or empty.</summary>
    public string HelpLink { get; init => field = TerminalText.Neutralize(value); } = "";

    /// <summary>Further members of the exception by name, as text.</summary>
    public IReadOnlyDictionary<string, string> Data
    {
        get;
        init => field = TerminalText.Neutralize(value);
    }
    = new Dictionary<string, string>();

    /// <summary>The inner exception.</summary>
    public RpcRemoteException? Inner { get; init; }

    /// <summary>All received details, as .NET writes an exception:
    /// the outer one first, then its inner exceptions.</summary>
    public override string ToString()
    {
        StringBuilder text = new();
        Append(text);
        return text.ToString();
    }

    private void Append(StringBuilder text)
    {
        text.Append(TypeName.Length > 0 ? TypeName : "An exception").Append(": ").Append(Message);
        if (Inner is not null)
        {
            text.AppendLine().Append(" ---> ");
            Inner.Append(text);
            text.AppendLine().Append("   --- end of the inner exception ---");
        }

        if (StackTrace.Length > 0)
        {
            text.AppendLine().Append(StackTrace);
        }

        foreach ((string name, string value) in Data)
        {
            text.AppendLine().Append("   ").Append(name).Append(" = ").Append(value);
        }
    }
}
