using System.Runtime.CompilerServices;

namespace ProtoRpc.Tests.TestRun;

/// <summary>A test that starts programs of Unix.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class UnixFactAttribute : FactAttribute
{
    public UnixFactAttribute(
        [CallerFilePath] string? sourceFilePath = null,
        [CallerLineNumber] int sourceLineNumber = -1)
        : base(sourceFilePath, sourceLineNumber)
    {
        if (OperatingSystem.IsWindows())
        {
            Skip = "the programs of the test are those of Unix";
        }
    }
}
