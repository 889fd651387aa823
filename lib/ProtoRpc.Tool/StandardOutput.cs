using System.Text;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Tool;

/// <summary>The standard output of the process.</summary>
internal static class StandardOutput
{
    private const int Descriptor = 1;

    /// <summary>Standard output as bytes. Writing to a pipe fails when the reader has gone: the console's own
    /// stream goes on in silence on Unix, so that <c>protorpc call ... | head</c> would read an endless
    /// stream for ever.</summary>
    public static Stream Open()
    {
        if (OperatingSystem.IsWindows())
        {
            return Console.OpenStandardOutput();
        }

        // A FileStream writes to a file at positions that it counts itself. Programs that write to the same
        // file would not see the file position move, and would overwrite each other's output.
        FileStream stream = new(
            new SafeFileHandle(Descriptor, ownsHandle: false), FileAccess.Write, bufferSize: 0);
        return stream.CanSeek ? Console.OpenStandardOutput() : stream;
    }

    /// <summary>Standard output as text: the console where it is a terminal.</summary>
    public static TextWriter OpenText() => Console.IsOutputRedirected
        ? new StreamWriter(Open(), new UTF8Encoding(encoderShouldEmitUTF8Identifier: false))
        : Console.Out;
}

/// <summary>The reader of the output has ended, as <c>head</c> does, so nothing more can be
/// written.</summary>
internal sealed class OutputClosedException(IOException cause) : Exception(cause.Message, cause);
