using System.Security.Cryptography;
using System.Text;
using System.Xml;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc.PowerShell.ServiceCommands;

/// <summary>Writes the help of commands from the comments of the .proto, in the XML that Get-Help reads.
/// </summary>
internal sealed class CommandHelp
{
    private const string Maml = "http://schemas.microsoft.com/maml/2004/10";
    private const string Command = "http://schemas.microsoft.com/maml/dev/command/2004/10";
    private const string Dev = "http://schemas.microsoft.com/maml/dev/2004/10";
    private const int MaxLength = 4000;

    // Without a limit, the help of a thousand commands would have many megabytes.
    private const int MaxParameters = 10_000;

    private static readonly (string Name, string Type, string Help)[] OwnParameters =
    [
        (RpcServiceCommand.ByInput, "Object", "The request, as a hashtable or an object. Properties without "
            + "a field of their name are ignored; an unknown key of a hashtable is an error."),
        ("Connection", "RpcConnection[]", "The connections to call over. Several are called at the same "
            + "time. The default is the connection of the module, or the only open one."),
        ("Deadline", "TimeSpan", "How long the call may take: seconds, text such as 50ms, or a TimeSpan."),
        ("Header", "IDictionary", "Headers of the call, as a hashtable."),
        ("AsHashtable", "", "Returns ordered hashtables instead of objects."),
        ("ThrottleLimit", "Int32", "How many calls for pipeline objects run in parallel."),
        ("AsJob", "", "Runs the calls in the background, and returns a job."),
    ];

    private static readonly (string Name, string Type, string Help)[] PagedParameters =
    [
        ("All", "", "Calls all pages of the list, and writes its elements instead of the pages. Deadline is "
            + "the time of one page."),
    ];

    private static readonly (string Name, string Type, string Help)[] ConfirmingParameters =
    [
        ("WhatIf", "", "Shows what would be called, and calls nothing."),
        ("Confirm", "", "Asks before each call."),
    ];

    private readonly XmlWriter _xml;
    private readonly TextBudget _budget;
    private int _parameters = MaxParameters;

    private CommandHelp(XmlWriter xml, TextBudget budget)
    {
        _xml = xml;
        _budget = budget;
    }

    /// <summary>The help of commands as a file's content.</summary>
    public static byte[] Write(IEnumerable<ServiceCommand> commands)
    {
        using MemoryStream bytes = new();
        XmlWriterSettings settings = new()
        {
            Encoding = new UTF8Encoding(encoderShouldEmitUTF8Identifier: false),
            Indent = true,
            NewLineChars = "\n",
        };
        using (XmlWriter xml = XmlWriter.Create(bytes, settings))
        {
            CommandHelp help = new(xml, new TextBudget());
            xml.WriteStartElement("helpItems");
            xml.WriteAttributeString("schema", "maml");
            foreach (ServiceCommand command in commands)
            {
                help.Write(command);
            }

            xml.WriteEndElement();
        }

        return bytes.ToArray();
    }

    private void Write(ServiceCommand command)
    {
        RpcMethodInfo method = command.Method;
        string comment = _budget.Take(method.Comment, MaxLength).Trim();
        comment = comment.Length > 0 ? comment : $"Calls {method.FullName}.";
        _xml.WriteStartElement("command", "command", Command);
        _xml.WriteAttributeString("xmlns", "maml", null, Maml);
        _xml.WriteAttributeString("xmlns", "dev", null, Dev);

        _xml.WriteStartElement("details", Command);
        Text("name", Command, command.Name);
        Description(comment.Split('\n')[0]);
        Text("verb", Command, command.Name.Split('-')[0]);
        Text("noun", Command, command.Name[(command.Name.IndexOf('-', StringComparison.Ordinal) + 1)..]);
        _xml.WriteEndElement();

        Description(
            $"""
            {comment}

            Method: {method.FullName}
            Request: {Typed(method.IsClientStreaming, method.RequestType)}
            Reply: {Typed(method.IsServerStreaming, method.ReplyType)}
            {(method.IsClientStreaming ? "Each object of the pipeline is a message of the stream." : "")}
            """);
        WriteParameters(command);

        _xml.WriteStartElement("returnValues", Command);
        _xml.WriteStartElement("returnValue", Command);
        TypeOf(ObjectTypeNames.Get(method.ReplyType));
        _xml.WriteEndElement();
        _xml.WriteEndElement();
        WriteExample(command);
        _xml.WriteEndElement();
    }

    private void WriteParameters(ServiceCommand command)
    {
        IReadOnlyList<CommandParameter> own =
            command.Parameters.Count <= _parameters ? command.Parameters : [];
        _parameters -= own.Count;

        _xml.WriteStartElement("syntax", Command);
        (string Name, string Type, string Help)[] others =
        [
            .. OwnParameters,
            .. command.IsPaged ? PagedParameters : [],
            .. command.CanConfirm ? ConfirmingParameters : [],
        ];
        WriteSyntax(command.Name, own, others, byInput: false);
        WriteSyntax(command.Name, own, others, byInput: true);
        _xml.WriteEndElement();

        _xml.WriteStartElement("parameters", Command);
        foreach (CommandParameter parameter in own)
        {
            string comment = _budget.Take(parameter.Field.Comment, MaxLength).Trim();
            string type = _budget.Take($"Type: {WordsOf(parameter.Field)}", MaxLength);
            WriteParameter(
                parameter,
                $"{(comment.Length > 0 ? comment : $"The field {parameter.Field.Name}.")}\n{type}");
        }

        foreach ((string name, string type, string help) in others)
        {
            bool isInput = name == RpcServiceCommand.ByInput;
            WriteParameter(
                name, type, isMandatory: false, isPositional: false,
                isInput ? "True (ByValue)" : "False", aliases: [],
                isInput && command.OnlyValue is { } only
                    ? $"{help} Text is the value of -{only.Name}."
                    : help);
        }

        _xml.WriteEndElement();
    }

    private void WriteSyntax(
        string name, IReadOnlyList<CommandParameter> parameters,
        IEnumerable<(string Name, string Type, string Help)> others, bool byInput)
    {
        _xml.WriteStartElement("syntaxItem", Command);
        Text("name", Maml, name);
        foreach (CommandParameter parameter in parameters)
        {
            WriteParameter(parameter, help: null, isMandatory: parameter.IsMandatory && !byInput);
        }

        foreach ((string own, string type, _) in others)
        {
            if (byInput || own != RpcServiceCommand.ByInput)
            {
                WriteParameter(
                    own, type, isMandatory: false, isPositional: false, "False", aliases: [], help: null);
            }
        }

        _xml.WriteEndElement();
    }

    private void WriteParameter(CommandParameter parameter, string? help, bool? isMandatory = null) =>
        WriteParameter(
            parameter.Name,
            parameter.IsSwitch ? "" : parameter.Type.Name,
            isMandatory ?? parameter.IsMandatory,
            parameter.IsPositional,
            "True (ByPropertyName)",
            parameter.Aliases,
            help,
            parameter.Field.DefaultText);

    // Without a help text, the parameter is written as a part of the syntax.
    private void WriteParameter(
        string name, string type, bool isMandatory, bool isPositional, string pipeline,
        IReadOnlyList<string> aliases, string? help, string? defaultValue = null)
    {
        _xml.WriteStartElement("parameter", Command);
        _xml.WriteAttributeString("required", isMandatory ? "true" : "false");
        _xml.WriteAttributeString("variableLength", "false");
        _xml.WriteAttributeString("globbing", "false");
        _xml.WriteAttributeString("pipelineInput", pipeline);
        _xml.WriteAttributeString("position", isPositional ? "0" : "named");
        _xml.WriteAttributeString("aliases", aliases.Count > 0 ? string.Join(", ", aliases) : "none");
        Text("name", Maml, name);
        if (help is not null)
        {
            Description(help);
        }

        if (type.Length > 0)
        {
            _xml.WriteStartElement("parameterValue", Command);
            _xml.WriteAttributeString("required", "true");
            _xml.WriteAttributeString("variableLength", "false");
            _xml.WriteString(type);
            _xml.WriteEndElement();
        }

        if (help is not null)
        {
            TypeOf(type.Length > 0 ? type : "SwitchParameter");
            if (defaultValue is not null)
            {
                Text("defaultValue", Dev, _budget.Take(defaultValue, MaxLength));
            }
        }

        _xml.WriteEndElement();
    }

    private void WriteExample(ServiceCommand command)
    {
        _xml.WriteStartElement("examples", Command);
        _xml.WriteStartElement("example", Command);
        Text("title", Maml, "-------------------------- EXAMPLE 1 --------------------------");
        _xml.WriteStartElement("introduction", Maml);
        Text("para", Maml, "PS>");
        _xml.WriteEndElement();
        Text("code", Dev, ExampleOf(command));
        _xml.WriteStartElement("remarks", Dev);
        Text("para", Maml, "");
        _xml.WriteEndElement();
        _xml.WriteEndElement();
        _xml.WriteEndElement();
    }

    private void Description(string text)
    {
        _xml.WriteStartElement("description", Maml);
        Text("para", Maml, text.TrimEnd());
        _xml.WriteEndElement();
    }

    private void TypeOf(string name)
    {
        _xml.WriteStartElement("type", Dev);
        Text("name", Maml, name);
        _xml.WriteEndElement();
    }

    // Replaces characters that XML does not allow, and control characters for terminals.
    private void Text(string element, string space, string text) => _xml.WriteElementString(
        element, space,
        WholeCharacters(string.Join('\n', text.ReplaceLineEndings("\n").Split('\n').Select(line =>
            string.Concat(TerminalText.Neutralize(line).Where(IsText))))));

    private static bool IsText(char c) => XmlConvert.IsXmlChar(c) || char.IsSurrogate(c);

    // Replaces lone surrogates by U+FFFD.
    private static string WholeCharacters(string text) =>
        text.AsSpan().ContainsAnyInRange('\uD800', '\uDFFF')
            ? Encoding.Unicode.GetString(Encoding.Unicode.GetBytes(text))
            : text;

    private static string Typed(bool isStream, RpcMessageInfo type) =>
        isStream ? $"a stream of {type.FullName}" : type.FullName;

    private static string WordsOf(RpcFieldInfo field) =>
        $"{(field.IsRepeated && !field.IsMap ? "list of " : "")}{field.TypeName}"
        + (field.EnumType is { } type
            ? $": {string.Join(", ", type.Values.Take(20).Select(value => value.Key))}" : "")
        + (field.Oneof is { } oneof
            ? $"; one of {string.Join(", ", oneof.Fields.Take(20).Select(other => other.Name))}" : "");

    // The example contains the mandatory parameters; if there are none, the first one.
    private static string ExampleOf(ServiceCommand command)
    {
        IEnumerable<CommandParameter> wanted = command.Parameters.Where(parameter => parameter.IsMandatory);
        IEnumerable<string> arguments = (wanted.Any() ? wanted : command.Parameters.Take(1))
            .Take(5)
            .Select(parameter => parameter.IsPositional
                ? SampleOf(parameter).TrimStart()
                : $"-{parameter.Name}{SampleOf(parameter)}");
        return string.Join(' ', arguments.Prepend(command.Name));
    }

    private static string SampleOf(CommandParameter parameter) => parameter switch
    {
        { IsSwitch: true } => "",
        { Field: { EnumType: { Values: [var first, ..] }, IsMap: false } } => $" {first.Key}",
        { Text: ArgumentText.Timestamp } => " (Get-Date)",
        { Text: ArgumentText.Duration } => " 5s",
        { Type: var type } when type == typeof(string) || type == typeof(string[]) =>
            $" '{parameter.Field.Name}'",
        { Type: var type } when type == typeof(object) => " @{}",
        { Field.Kind: RpcFieldKind.Message or RpcFieldKind.Group } => " @{}",
        { Field.Kind: RpcFieldKind.Bool } => " $true",
        { Field.Kind: RpcFieldKind.Bytes } => " 'AQID'",
        _ => " 1",
    };
}

/// <summary>The help of imported commands as a file, because Get-Help reads nothing else. It is deleted with
/// the last module that has the same help, at the latest at the end of the process.</summary>
/// <remarks>A runspace that is closed removes no module. So its imports leave a file, but imports of the same
/// service share one.</remarks>
internal sealed class TemporaryHelp : IDisposable
{
    private static readonly Lock Gate = new();

    // By the hash of the content.
    private static readonly Dictionary<string, SharedFile> Files = new(StringComparer.Ordinal);

    private SharedFile? _file;

    static TemporaryHelp() => AppDomain.CurrentDomain.ProcessExit += static (_, _) =>
    {
        lock (Gate)
        {
            foreach (SharedFile file in Files.Values)
            {
                file.Delete();
            }

            Files.Clear();
        }
    };

    /// <param name="content">The help.</param>
    /// <exception cref="IOException">The folder for temporary files cannot be written to.</exception>
    /// <exception cref="UnauthorizedAccessException">The same.</exception>
    public TemporaryHelp(byte[] content)
    {
        string key = Convert.ToHexString(SHA256.HashData(content));
        lock (Gate)
        {
            // Some systems delete old temporary files.
            if (!Files.TryGetValue(key, out SharedFile? file) || !File.Exists(file.Path))
            {
                file = SharedFile.Write(key, content);
                Files[key] = file;
            }

            file.Users++;
            _file = file;
            Path = file.Path;
        }
    }

    public string Path { get; }

    public void Dispose()
    {
        lock (Gate)
        {
            if (_file is { } file && --file.Users == 0)
            {
                file.Delete();
                if (Files.GetValueOrDefault(file.Key) == file)
                {
                    Files.Remove(file.Key);
                }
            }

            _file = null;
        }
    }

    // The file is in a private folder: Get-Help first searches folders with the names of languages next to
    // the file, and another user could create one in the temporary folder.
    private sealed class SharedFile(string key, string path)
    {
        public string Key => key;

        public string Path => path;

        public int Users { get; set; }

        public static SharedFile Write(string key, byte[] content)
        {
            DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");

            // Get-Help identifies the file by its name.
            SharedFile file = new(key, System.IO.Path.Combine(folder.FullName, $"{key[..16]}-Help.xml"));
            try
            {
                using FileStream stream = new(file.Path, FileMode.CreateNew, FileAccess.Write);
                stream.Write(content);
            }
            catch
            {
                file.Delete();
                throw;
            }

            return file;
        }

        public void Delete()
        {
            try
            {
                File.Delete(Path);
                Directory.Delete(System.IO.Path.GetDirectoryName(Path)!);
            }
            catch (Exception e) when (e is IOException or UnauthorizedAccessException)
            {
                // Another process reads the file, or it was deleted. It contains no secrets, so it may
                // remain.
            }
        }
    }
}

/// <summary>Limits the characters of a schema's texts, apart from names, that a module's commands and their
/// help may contain. Without a limit, the same comment could be repeated in thousands of commands.</summary>
internal sealed class TextBudget(int characters = 4_000_000)
{
    private int _left = characters;

    /// <summary>The text, cut to a length; empty when the budget is used up.</summary>
    public string Take(string text, int maxLength)
    {
        int length = Math.Min(text.Length, maxLength);
        if (length < text.Length && length > 0 && char.IsHighSurrogate(text[length - 1]))
        {
            // The second half of the surrogate pair is cut off, so the first is removed.
            length--;
        }

        return !Take(length, maxLength) ? "" : length == text.Length ? text : $"{text.AsSpan(0, length)}...";
    }

    /// <summary>Uses a number of characters of the budget. False if the number is above the limit, or above
    /// the rest of the budget.</summary>
    public bool Take(int length, int maxLength)
    {
        if (length > maxLength || length > _left)
        {
            return false;
        }

        _left -= length;
        return true;
    }
}
