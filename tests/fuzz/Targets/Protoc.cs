using System.Diagnostics;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Inputs;
using ProtoRpc.Schema.Sources.Protoc;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>Asks protoc whether messages are valid: one process for as many as there are, each an element of
/// a message that lists them.</summary>
internal sealed class Protoc : IDisposable
{
    private const string BatchFile = "fuzz_batch.proto";
    private const string BatchPackage = "fuzz.batch";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly string _program = ProtocLocator.Find();
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("protorpc-fuzz-");
    private readonly Dictionary<RpcSchema, string> _sets = [];

    /// <summary>Whether a schema is one that protoc can read, too.</summary>
    public bool Knows(RpcMessageInfo type) => Decodes(type, []);

    /// <summary>Whether bytes are a message.</summary>
    public bool Decodes(RpcMessageInfo type, byte[] message) =>
        Run(type, $"--decode={type.FullName}", message).IsValid;

    /// <summary>Whether all of these bytes are messages.</summary>
    public bool DecodesAll(RpcMessageInfo type, IEnumerable<byte[]> messages) => Run(
        type, $"--decode={ListOf(type)}",
        WireField.Join(messages.Select(message => new WireField(1, 2, message)))).IsValid;

    /// <summary>Whether a text is a message.</summary>
    public bool Encodes(RpcMessageInfo type, byte[] text) =>
        Run(type, $"--encode={type.FullName}", text).IsValid;

    /// <summary>Whether all of these texts are messages, and the list of them in bytes.</summary>
    public (bool IsValid, byte[] Bytes) EncodeAll(RpcMessageInfo type, IEnumerable<byte[]> texts) => Run(
        type, $"--encode={ListOf(type)}",
        [.. texts.SelectMany(text => (byte[])[.. "item {\n"u8, .. text, .. "\n}\n"u8])]);

    public void Dispose() => _folder.Delete(recursive: true);

    private (bool IsValid, byte[] Output) Run(RpcMessageInfo type, string wanted, byte[] input)
    {
        ProcessStartInfo start = new(
            _program, [$"--descriptor_set_in={SetOf(type)}", wanted, BatchFile])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        using MemoryStream output = new();
        Task reading = process.StandardOutput.BaseStream.CopyToAsync(output);
        Task<string> errors = process.StandardError.ReadToEndAsync();
        try
        {
            process.StandardInput.BaseStream.Write(input);
            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // It has seen enough.
        }

        if (!Task.WhenAll(reading, errors).Wait(Patience) || !process.WaitForExit(Patience))
        {
            process.Kill();
            throw new TimeoutException("protoc does not end.");
        }

        return (process.ExitCode == 0, output.ToArray());
    }

    private string SetOf(RpcMessageInfo type)
    {
        if (!_sets.TryGetValue(type.Schema, out string? path))
        {
            // Sets behind each other are one.
            path = Path.Combine(_folder.FullName, $"{_sets.Count}.pb");
            File.WriteAllBytes(path, [.. type.Schema.ToDescriptorSet(), .. BatchOf(type.Schema)]);
            _sets.Add(type.Schema, path);
        }

        return path;
    }

    private static byte[] BatchOf(RpcSchema schema)
    {
        FileDescriptorProto file = new() { Name = BatchFile, Package = BatchPackage, Syntax = "proto2" };
        file.Dependency.AddRange(
            FileDescriptorSet.Parser.ParseFrom(schema.ToDescriptorSet()).File.Select(each => each.Name));
        foreach (RpcMessageInfo type in MessageTypes.All.Where(type => type.Schema == schema))
        {
            file.MessageType.Add(new DescriptorProto
            {
                Name = NameOf(type),
                Field =
                {
                    new FieldDescriptorProto
                    {
                        Name = "item",
                        Number = 1,
                        Label = FieldDescriptorProto.Types.Label.Repeated,
                        Type = FieldDescriptorProto.Types.Type.Message,
                        TypeName = $".{type.FullName}",
                    },
                },
            });
        }

        return new FileDescriptorSet { File = { file } }.ToByteArray();
    }

    private static string ListOf(RpcMessageInfo type) => $"{BatchPackage}.{NameOf(type)}";

    private static string NameOf(RpcMessageInfo type) =>
        $"Batch_{type.FullName.Replace('.', '_')}";
}
