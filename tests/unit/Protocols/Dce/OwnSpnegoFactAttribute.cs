using System.Runtime.CompilerServices;

namespace ProtoRpc.Tests.Protocols.Dce;

/// <summary>A test of our own SPNEGO, which clients on Windows leave to the system.</summary>
public sealed class OwnSpnegoFactAttribute : FactAttribute
{
    public OwnSpnegoFactAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        if (OperatingSystem.IsWindows())
        {
            Skip = "on Windows the system does SPNEGO";
        }
    }
}
