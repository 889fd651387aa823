using System.Diagnostics;
using ProtoRpc.Schema.Sources.Protoc;
using ProtoRpc.Tests.Schema;

namespace ProtoRpc.Tests.Messages;

/// <summary>protoc as a codec: text to bytes and bytes to text.</summary>
/// <param name="protoFile">The .proto with the message type.</param>
/// <param name="type">The full name of the type.</param>
internal sealed class ProtocCodec(string protoFile, string type)
{
    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(60);

    public byte[] Encode(byte[] text) => Run($"--encode={type}", "--deterministic_output", text);

    public byte[] Decode(byte[] bytes) => Run($"--decode={type}", null, bytes);

    private byte[] Run(string mode, string? option, byte[] input)
    {
        ProcessStartInfo start = new(ProtocLocator.Find())
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach (string folder in ProtocLocator.IncludeFolders.Prepend(TestProtos.Folder)
            .Prepend(Path.GetDirectoryName(protoFile)!))
        {
            start.ArgumentList.Add("-I" + folder);
        }
        start.ArgumentList.Add(mode);
        if (option is not null)
        {
            start.ArgumentList.Add(option);
        }
        start.ArgumentList.Add(Path.GetFileName(protoFile));

        using Process process = Process.Start(start)!;
        using MemoryStream output = new();
        Task copying = process.StandardOutput.BaseStream.CopyToAsync(output);
        Task<string> errors = process.StandardError.ReadToEndAsync();
        process.StandardInput.BaseStream.Write(input);
        process.StandardInput.Close();
        bool ended = Task.WaitAll([copying, errors], Timeout) && process.WaitForExit(Timeout);
        Assert.True(ended, "protoc did not end.");
        Assert.True(process.ExitCode == 0, $"protoc {mode}: {errors.Result}");
        return output.ToArray();
    }
}
