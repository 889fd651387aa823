using System.ComponentModel;
using System.Diagnostics;
using System.Text.RegularExpressions;
using ProtoRpc.Schema.Linking;

namespace ProtoRpc.Schema.Sources.Protoc;

/// <summary>Compiles .proto files with protoc.</summary>
internal static class ProtocCompiler
{
    // Limits the runs of protoc that find the errors of further files.
    private const int MaxRetries = 10;

    private static readonly TimeSpan Timeout = TimeSpan.FromSeconds(60);

    /// <summary>Compiles files; in several runs only where different files have the same name.</summary>
    /// <param name="files">The .proto files.</param>
    /// <param name="request">The user's import paths and folders.</param>
    /// <param name="known">The cache of earlier results; null to run protoc in any case.</param>
    /// <exception cref="RpcException">InvalidArgument with all that protoc found wrong.</exception>
    public static IReadOnlyList<SchemaPart> Compile(
        IReadOnlyList<SourceFile> files, SchemaRequest request, CompiledSchemas? known)
    {
        SourceFile[] paths = Folders(request.ImportPaths, request.BaseFolder);
        SourceFile[] folders = Folders(request.Folders, request.BaseFolder);
        string protoc = ProtocLocator.Find();
        return
        [
            .. ProtocPlan.Make(files, paths, folders)
                .Select(plan => Find(protoc, plan, known) ?? Run(protoc, plan, Timeout, known)),
        ];
    }

    /// <summary>Reads the result of an earlier run; null for none.</summary>
    internal static SchemaPart? Find(string protoc, ProtocPlan plan, CompiledSchemas? known) =>
        known?.Find(protoc, plan) is { } entry
            ? PartOf(plan, plan, entry.Set.ToByteArray(), entry.Warnings) with
            {
                LeftOutOptions = entry.LeftOutOptions,
            }
            : null;

    /// <summary>Runs protoc on the files of one plan.</summary>
    internal static SchemaPart Run(
        string protoc, ProtocPlan plan, TimeSpan timeout, CompiledSchemas? known = null)
    {
        DateTime begin = known?.Now ?? default;
        using WorkFolder work = new();
        string output = Path.Combine(work.FullName, "out.pb");
        ProtocOutput run = Start(protoc, plan, output, timeout);
        if (run.ExitCode != 0)
        {
            ProtocVersion.RequireFor(protoc, run.Text, timeout);
        }

        using OmittedImports? omitted = run.ExitCode == 0 || !OmittedImports.MayHelp(plan, run.Text) ? null
            : OmittedImports.Find(plan, probe => Start(protoc, probe, output, timeout).Text, timeout);
        if (omitted?.Plan is { } lenient)
        {
            plan = lenient;
            run = Start(protoc, plan, output, timeout);
        }

        ProtocDiagnostics diagnostics = ProtocDiagnostics.Read(run.Text, plan);
        ProtocPlan? compiled = plan;
        if (run.ExitCode != 0)
        {
            (diagnostics, compiled) = WithOthers(protoc, plan, output, timeout, diagnostics);
            RpcException error = diagnostics.ToException(run.ExitCode);
            if (diagnostics.FailedInputs.Count == 0 || !diagnostics.FailedInputs.All(file => file.IsMatched))
            {
                throw error;
            }

            if (compiled is null)
            {
                return plan.Inputs.Count == diagnostics.FailedInputs.Count
                    ? SchemaPart.WithoutFiles(diagnostics.FailedInputs, diagnostics.LeftOut, error)
                    : throw error;
            }
        }

        byte[] set = File.ReadAllBytes(output);
        SchemaPart part = PartOf(plan, compiled, set, diagnostics.Warnings);
        part = part with
        {
            Paths = [.. part.Paths, .. diagnostics.FailedInputs.Select(file => file.FullPath)],
            LeftOut = diagnostics.LeftOut,
            LeftOutOptions = omitted?.Warnings(part.Files.Select(file => file.Name)) ?? [],
        };
        if (run.ExitCode == 0)
        {
            known?.Add(protoc, plan, begin, set, part, omitted?.Imports ?? []);
        }

        return part;
    }

    private static SchemaPart PartOf(
        ProtocPlan plan, ProtocPlan compiled, byte[] set, IReadOnlyList<string> warnings)
    {
        string origin = string.Join(", ", plan.Inputs.Take(3).Select(i => $"'{i.File.Given}'"));
        IReadOnlyList<DescriptorFile> files = DescriptorSetReader.Read(set, origin);
        plan.CheckImports(files.Select(f => f.Name));
        return new SchemaPart(files, [.. compiled.Inputs.Select(i => i.Name)], warnings, plan.Label)
        {
            Paths = [.. files.Select(file => plan.FindFile(file.Name)).OfType<string>()],
        };
    }

    // protoc stops at the first file with errors. It runs again to find the errors of the others, and to
    // compile the files without errors.
    private static (ProtocDiagnostics All, ProtocPlan? Compiled) WithOthers(
        string protoc, ProtocPlan plan, string output, TimeSpan timeout, ProtocDiagnostics first)
    {
        ProtocDiagnostics all = first;
        for (int i = 0; i < MaxRetries; i++)
        {
            ProtocInput[] left = [.. plan.Inputs.Where(i => !all.FailedInputs.Contains(i.File))];
            if (left.Length == 0 || left.Length == plan.Inputs.Count)
            {
                break;
            }

            ProtocPlan rest = plan with { Inputs = left };
            ProtocOutput run = Start(protoc, rest, output, timeout);
            ProtocDiagnostics more = ProtocDiagnostics.Read(run.Text, plan);
            int known = all.FailedInputs.Count;
            all = all.With(more);
            if (run.ExitCode == 0)
            {
                return (all, rest);
            }

            if (all.FailedInputs.Count == known)
            {
                break;
            }
        }

        return (all, null);
    }

    private static ProtocOutput Start(string protoc, ProtocPlan plan, string output, TimeSpan timeout)
    {
        string work = Path.GetDirectoryName(output)!;
        string arguments = Path.Combine(work, "arguments");
        // The arguments are in a file, because a command line is too short for many files. UTF-8 without a
        // byte order mark.
        Dictionary<string, string> links = new(StringComparer.Ordinal);
        File.WriteAllLines(arguments, Arguments(plan, output, work, links));
        ProtocOutput run = ProtocProcess.Run(protoc, ["@" + arguments], work, timeout);
        string text = run.Text;
        foreach ((string link, string folder) in links)
        {
            text = text.Replace(link, folder);
        }

        return run with { Text = plan.Copies is { } copies ? WithoutFolder(text, copies) : text };
    }

    // Errors in a copy are reported for the original file. On Windows, protoc writes paths with slashes.
    private static string WithoutFolder(string text, string folder) =>
        text.Replace(folder + '/', "").Replace(folder + Path.DirectorySeparatorChar, "")
            .Replace(folder.Replace(Path.DirectorySeparatorChar, '/') + '/', "");

    private static SourceFile[] Folders(IReadOnlyList<string> paths, string baseFolder) =>
        [.. paths.Select(path => ImportFolder(path, baseFolder)).DistinctBy(folder => folder.FullPath)];

    private static SourceFile ImportFolder(string path, string baseFolder)
    {
        string full = Path.TrimEndingDirectorySeparator(Path.GetFullPath(path, baseFolder));
        return Directory.Exists(full)
            ? new SourceFile(path, full)
            : throw SchemaError.FileNotFound($"The import path '{path}' ({full}) is not a folder.");
    }

    private static IEnumerable<string> Arguments(
        ProtocPlan plan, string output, string workFolder, Dictionary<string, string> links)
    {
        List<string> arguments = ["--include_imports", "--include_source_info", "--retain_options"];
        arguments.Add($"--descriptor_set_out={output}");
        string aliases = Path.Combine(workFolder, "aliases");
        IEnumerable<string> roots =
        [
            .. plan.Copies is { } copies ? new[] { copies } : [],
            .. plan.Roots.Select(r => r.FullPath),
            .. RpcMessageAliases.Write(plan.Roots, aliases) ? new[] { aliases } : [],
            .. ProtocLocator.IncludeFolders,
        ];
        arguments.AddRange(roots.Select((root, i) =>
            "--proto_path==" + Listable(root, Path.Combine(workFolder, $"root{i}"), links)));
        // A name that begins with a hyphen would be an option, so the path is passed: that of the copy if
        // there is one.
        arguments.AddRange(plan.Inputs.Select(
            i => i.Name.StartsWith('-') ? plan.FindCopy(i.Name) ?? i.File.FullPath : i.Name));
        return arguments.Any(a => a.AsSpan().IndexOfAny('\n', '\r') >= 0)
            ? throw SchemaError.Invalid(
                "The path of a .proto file has a line break, which protoc cannot read.")
            : arguments;
    }

    // protoc splits a list of paths at the path separator, so a folder with a separator in its name is passed
    // as a symbolic link.
    private static string Listable(string folder, string link, Dictionary<string, string> links)
    {
        if (!folder.Contains(Path.PathSeparator))
        {
            return folder;
        }

        try
        {
            if (!Directory.Exists(link))
            {
                Directory.CreateSymbolicLink(link, folder);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw SchemaError.Invalid(
                $"The path '{folder}' contains '{Path.PathSeparator}', which protoc reads as the end of the "
                + "path. Rename or move the folder.", e);
        }

        links.Add(link + Path.DirectorySeparatorChar, folder + Path.DirectorySeparatorChar);
        return link;
    }
}

/// <summary>The exit code and the output of protoc.</summary>
internal sealed record ProtocOutput(int ExitCode, string Text);

/// <summary>Runs protoc as a process.</summary>
internal static class ProtocProcess
{
    // Errors beyond this size are useless to a reader.
    private const int MaxText = 1024 * 1024;

    /// <summary>Runs protoc to its end.</summary>
    /// <exception cref="RpcException">FailedPrecondition: protoc cannot be started. DeadlineExceeded: protoc
    /// hangs; it is killed.</exception>
    public static ProtocOutput Run(
        string protoc, IEnumerable<string> arguments, string workFolder, TimeSpan timeout)
    {
        ProcessStartInfo start = new(protoc, arguments)
        {
            WorkingDirectory = workFolder,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            StandardOutputEncoding = Encoding.UTF8,
            StandardErrorEncoding = Encoding.UTF8,
            CreateNoWindow = true,
        };
        using Process process = Start(start);
        process.StandardInput.Close();
        Task<string> output = ReadAsync(process.StandardOutput);
        Task<string> errors = ReadAsync(process.StandardError);
        Stopwatch watch = Stopwatch.StartNew();
        if (!Task.WhenAll(output, errors).Wait(timeout) || !process.WaitForExit(
            timeout > watch.Elapsed ? timeout - watch.Elapsed : TimeSpan.Zero))
        {
            process.Kill(entireProcessTree: true);
            throw new RpcException(
                RpcStatusCode.DeadlineExceeded, RpcErrorIds.SchemaError,
                $"'{protoc}' did not end within {timeout.TotalSeconds:0.#} seconds and was stopped.");
        }

        return new ProtocOutput(process.ExitCode, errors.Result + output.Result);
    }

    private static Process Start(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start)!;
        }
        catch (Win32Exception e)
        {
            throw ProtocLocator.Missing($"'{start.FileName}' cannot be started: {e.Message}", e);
        }
    }

    // On a separate thread, because the runtime compiles much code at the first asynchronous read of a pipe.
    private static Task<string> ReadAsync(StreamReader reader) =>
        Task.Factory.StartNew(
            () => Read(reader), CancellationToken.None,
            TaskCreationOptions.LongRunning, TaskScheduler.Default);

    private static string Read(StreamReader reader)
    {
        StringBuilder text = new();
        char[] buffer = new char[4096];
        for (int read = 1; read > 0;)
        {
            read = reader.Read(buffer);
            // The rest is read and discarded, so that protoc does not block.
            text.Append(buffer, 0, Math.Min(read, MaxText - text.Length));
        }

        return text.ToString();
    }
}

/// <summary>Distinguishes a protoc that is too old from an invalid schema.</summary>
internal static partial class ProtocVersion
{
    private const string Oldest = "25.0";

    /// <summary>Checks what protoc wrote before it failed.</summary>
    /// <exception cref="RpcException">FailedPrecondition:
    /// it does not know an option that ProtoRpc uses.</exception>
    public static void RequireFor(string protoc, string text, TimeSpan timeout)
    {
        if (UnknownOption().Match(text) is not { Success: true } option)
        {
            return;
        }

        string said = ProtocProcess.Run(protoc, ["--version"], Path.GetTempPath(), timeout).Text;
        Match version = Version().Match(said);
        string name = version.Success ? $"is version {version.Value}" : "does not report its version";
        throw new RpcException(
            RpcStatusCode.FailedPrecondition, RpcErrorIds.ProtocTooOld,
            $"'{protoc}' {name}, which is too old: it does not support the "
            + $"option {option.Groups["option"].Value}. ProtoRpc needs protoc {Oldest} or later. Install a "
            + "current one (from github.com/protocolbuffers/protobuf/releases, or 'Grpc.Tools' from NuGet) "
            + "and put its path into the environment variable PROTOC. If PROTOC names this one, remove the "
            + "variable: the module includes its own protoc.");
    }

    // protoc 3.x reports "Missing value for flag" for an unknown flag.
    [GeneratedRegex(
        @"^(?:Missing value for flag|Unknown flag): (?<option>--[a-z_]+)", RegexOptions.Multiline)]
    private static partial Regex UnknownOption();

    [GeneratedRegex(@"\d+(?:\.\d+)+")]
    private static partial Regex Version();
}
