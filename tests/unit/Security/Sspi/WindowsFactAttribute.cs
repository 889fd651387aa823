using System.Runtime.CompilerServices;

namespace ProtoRpc.Tests.Security.Sspi;

/// <summary>A test of what Windows alone has; elsewhere it runs under Wine,
/// with the unit tests built for Windows.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class WindowsFactAttribute : FactAttribute
{
    public WindowsFactAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        Skip = OperatingSystem.IsWindows()
            ? null
            : "only Windows has this; the windows suite runs it under Wine";
    }
}
