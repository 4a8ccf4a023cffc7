; ModuleID = 'figure3.c'
source_filename = "figure3.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@x = dso_local global i32 0, align 4, !dbg !0

; Function Attrs: noinline nounwind optnone uwtable
define dso_local i32 @getX() #0 !dbg !14 {
  %1 = load i32, i32* @x, align 4, !dbg !18
  ret i32 %1, !dbg !19
}

; Function Attrs: noinline nounwind optnone uwtable
define dso_local void @setX(i32 noundef %0) #0 !dbg !20 {
  %2 = alloca i32, align 4
  store i32 %0, i32* %2, align 4
  call void @llvm.dbg.declare(metadata i32* %2, metadata !23, metadata !DIExpression()), !dbg !24
  %3 = load i32, i32* %2, align 4, !dbg !25
  store i32 %3, i32* @x, align 4, !dbg !26
  ret void, !dbg !27
}

; Function Attrs: nofree nosync nounwind readnone speculatable willreturn
declare void @llvm.dbg.declare(metadata, metadata, metadata) #1

; Function Attrs: noinline nounwind optnone uwtable
define dso_local void @incX(i32 noundef %0) #0 !dbg !28 {
  %2 = alloca i32, align 4
  %3 = alloca i32, align 4
  store i32 %0, i32* %2, align 4
  call void @llvm.dbg.declare(metadata i32* %2, metadata !29, metadata !DIExpression()), !dbg !30
  call void @llvm.dbg.declare(metadata i32* %3, metadata !31, metadata !DIExpression()), !dbg !32
  %4 = call i32 @getX(), !dbg !33
  store i32 %4, i32* %3, align 4, !dbg !32
  %5 = load i32, i32* %3, align 4, !dbg !34
  %6 = load i32, i32* %2, align 4, !dbg !35
  %7 = add nsw i32 %5, %6, !dbg !36
  store i32 %7, i32* %3, align 4, !dbg !37
  %8 = load i32, i32* %3, align 4, !dbg !38
  call void @setX(i32 noundef %8), !dbg !39
  ret void, !dbg !40
}

attributes #0 = { noinline nounwind optnone uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }
attributes #1 = { nofree nosync nounwind readnone speculatable willreturn }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!6, !7, !8, !9, !10, !11, !12}
!llvm.ident = !{!13}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "x", scope: !2, file: !3, line: 1, type: !5, isLocal: false, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, producer: "Debian clang version 14.0.6", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, globals: !4, splitDebugInlining: false, nameTableKind: None)
!3 = !DIFile(filename: "figure3.c", directory: "/src", checksumkind: CSK_MD5, checksum: "651b953c925286ede0a84beb363d0def")
!4 = !{!0}
!5 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!6 = !{i32 7, !"Dwarf Version", i32 5}
!7 = !{i32 2, !"Debug Info Version", i32 3}
!8 = !{i32 1, !"wchar_size", i32 4}
!9 = !{i32 7, !"PIC Level", i32 2}
!10 = !{i32 7, !"PIE Level", i32 2}
!11 = !{i32 7, !"uwtable", i32 1}
!12 = !{i32 7, !"frame-pointer", i32 2}
!13 = !{!"Debian clang version 14.0.6"}
!14 = distinct !DISubprogram(name: "getX", scope: !3, file: !3, line: 3, type: !15, scopeLine: 4, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !17)
!15 = !DISubroutineType(types: !16)
!16 = !{!5}
!17 = !{}
!18 = !DILocation(line: 5, column: 12, scope: !14)
!19 = !DILocation(line: 5, column: 5, scope: !14)
!20 = distinct !DISubprogram(name: "setX", scope: !3, file: !3, line: 8, type: !21, scopeLine: 9, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !17)
!21 = !DISubroutineType(types: !22)
!22 = !{null, !5}
!23 = !DILocalVariable(name: "p0", arg: 1, scope: !20, file: !3, line: 8, type: !5)
!24 = !DILocation(line: 8, column: 15, scope: !20)
!25 = !DILocation(line: 10, column: 9, scope: !20)
!26 = !DILocation(line: 10, column: 7, scope: !20)
!27 = !DILocation(line: 11, column: 1, scope: !20)
!28 = distinct !DISubprogram(name: "incX", scope: !3, file: !3, line: 13, type: !21, scopeLine: 14, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !17)
!29 = !DILocalVariable(name: "val", arg: 1, scope: !28, file: !3, line: 13, type: !5)
!30 = !DILocation(line: 13, column: 15, scope: !28)
!31 = !DILocalVariable(name: "tmp", scope: !28, file: !3, line: 15, type: !5)
!32 = !DILocation(line: 15, column: 9, scope: !28)
!33 = !DILocation(line: 15, column: 15, scope: !28)
!34 = !DILocation(line: 16, column: 11, scope: !28)
!35 = !DILocation(line: 16, column: 17, scope: !28)
!36 = !DILocation(line: 16, column: 15, scope: !28)
!37 = !DILocation(line: 16, column: 9, scope: !28)
!38 = !DILocation(line: 17, column: 10, scope: !28)
!39 = !DILocation(line: 17, column: 5, scope: !28)
!40 = !DILocation(line: 18, column: 1, scope: !28)
